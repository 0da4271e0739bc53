//! How jobs of Shockwave's traces change their batch: by Accordion's rule, which takes the largest
//! batch outside of critical epochs, or by the noise of gradients, where it doubles at epochs that
//! were measured. What the simulator does and what its profiles say differ in places, and both are
//! known to it: jobs behave by the one, and schedulers are told the other.

use super::super::super::phases::Change;

/// What is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Model {
    ResNet18,
    ResNet50,
    Transformer,
    Language,
    Recommendation,
    CycleGan,
    A3c,
}

use Model::{Language, Recommendation, ResNet18, ResNet50};

/// Model, what traces call it, examples of an epoch, and the largest batch, if it changes.
const MODELS: [(Model, &str, f64, Option<u32>); 7] = [
    (Model::ResNet18, "ResNet-18", 50_000.0, Some(256)),
    (Model::ResNet50, "ResNet-50", 100_000.0, Some(128)),
    (Model::Transformer, "Transformer", 10_000.0, None),
    (Model::Language, "LM", 59_675.0, Some(80)),
    (Model::Recommendation, "Recommendation", 117_907.0, Some(8192)),
    (Model::CycleGan, "CycleGAN", 6_287.0, None),
    (Model::A3c, "A3C", 4.0, None),
];

/// Epochs from which on the batch is twice as large, by model, first batch and GPUs.
const DOUBLES: [(Model, u32, u32, &[u32]); 33] = [
    (ResNet18, 16, 1, &[31, 41, 51, 71]),
    (ResNet18, 32, 1, &[21, 31, 51]),
    (ResNet18, 64, 1, &[11, 31]),
    (ResNet18, 128, 1, &[11]),
    (ResNet18, 16, 2, &[21, 31, 91, 111]),
    (ResNet18, 32, 2, &[11, 21, 41]),
    (ResNet18, 64, 2, &[21, 41]),
    (ResNet18, 128, 2, &[41]),
    (ResNet18, 16, 4, &[11, 21, 81, 91]),
    (ResNet18, 32, 4, &[21, 31, 61]),
    (ResNet18, 64, 4, &[11, 61]),
    (ResNet18, 128, 4, &[11]),
    (ResNet50, 64, 1, &[101]),
    (ResNet50, 32, 2, &[101, 111]),
    (ResNet50, 64, 2, &[81]),
    (ResNet50, 32, 4, &[131, 221]),
    (ResNet50, 64, 4, &[191]),
    (Language, 5, 1, &[31, 41, 61, 71]),
    (Language, 10, 1, &[11, 21, 41]),
    (Language, 20, 1, &[11, 41]),
    (Language, 40, 1, &[11]),
    (Language, 5, 2, &[31, 51, 61, 71]),
    (Language, 10, 2, &[11, 31, 41]),
    (Language, 20, 2, &[31, 41]),
    (Language, 40, 2, &[11]),
    (Language, 5, 4, &[11, 31, 71, 91]),
    (Language, 10, 4, &[11, 31, 61]),
    (Language, 20, 4, &[11, 61]),
    (Language, 40, 4, &[61]),
    (Recommendation, 512, 1, &[21, 41, 71, 91]),
    (Recommendation, 1024, 1, &[21, 51, 91]),
    (Recommendation, 2048, 1, &[21, 41]),
    (Recommendation, 4096, 1, &[41]),
];

impl Model {
    /// The model and the batch of a job type such as `LM (batch size 10)`.
    pub(super) fn of(job_type: &str) -> Option<(Model, u32)> {
        let (name, rest) = job_type.split_once(" (batch size ")?;
        let batch = rest.strip_suffix(')')?.parse().ok().filter(|batch| *batch > 0)?;
        Some((MODELS.iter().find(|known| known.1 == name)?.0, batch))
    }

    fn known(self) -> &'static (Model, &'static str, f64, Option<u32>) {
        MODELS.iter().find(|known| known.0 == self).expect("every model is in the list")
    }

    pub(super) fn name(self) -> &'static str {
        self.known().1
    }

    /// Examples of an epoch.
    pub(super) fn examples(self) -> f64 {
        self.known().2
    }

    /// Whether an epoch is critical by Accordion's rule; profiles have some more than jobs.
    fn is_critical(self, batch: u32, epoch: u32, in_profile: bool) -> bool {
        match self {
            ResNet18 => {
                let head = if batch == 256 { 20 } else { 10 };
                epoch < head || (150..160).contains(&epoch) || (250..260).contains(&epoch)
            }
            ResNet50 => epoch % 30 < 10,
            Language => epoch < 10,
            Recommendation => {
                let head = match batch {
                    512 | 1024 => 30,
                    2048 => 40,
                    _ => 10,
                };
                let again = (60..70).contains(&epoch) || (80..90).contains(&epoch);
                epoch < head || (in_profile && again)
            }
            _ => true,
        }
    }
}

/// How a job changes its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Adapts {
    Never,
    Accordion,
    Noise,
}

impl Adapts {
    /// The word that traces have for it.
    pub(super) fn of(word: &str) -> Option<Adapts> {
        match word {
            "static" => Some(Adapts::Never),
            "accordion" => Some(Adapts::Accordion),
            "gns" => Some(Adapts::Noise),
            _ => None,
        }
    }

    /// How it gets from one batch to another.
    pub(super) fn change(self) -> Change {
        if self == Adapts::Noise { Change::StepByStep } else { Change::AtOnce }
    }

    fn doubles(model: Model, batch: u32, gpus: u32) -> &'static [u32] {
        let found =
            DOUBLES.iter().find(|known| (known.0, known.1, known.2) == (model, batch, gpus));
        found.map_or(&[], |known| known.3)
    }

    /// The batches that a job may go through, smallest first.
    pub(super) fn batches(self, model: Model, batch: u32, gpus: u32) -> Vec<u32> {
        let most = model.known().3.filter(|most| *most > batch);
        match (self, most) {
            (Adapts::Accordion, Some(most)) => vec![batch, most],
            (Adapts::Noise, Some(most)) => {
                let times = 0..=Adapts::doubles(model, batch, gpus).len() as u32;
                times.map(|times| batch << times).filter(|batch| *batch <= most).collect()
            }
            _ => vec![batch],
        }
    }
}

/// How one job changes its batch.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) adapts: Adapts,
    pub(super) model: Model,
    /// Its first batch.
    pub(super) batch: u32,
    pub(super) gpus: u32,
    pub(super) epochs: u32,
    /// The batches that it may go through, smallest first.
    pub(super) batches: Vec<u32>,
}

impl Plan {
    /// From which epoch on which batch is due, by its index.
    pub(super) fn due(&self) -> Vec<(u32, usize)> {
        let mut due = vec![(0, 0)];
        match self.adapts {
            _ if self.batches.len() < 2 => {}
            Adapts::Never => {}
            Adapts::Noise => {
                let doubles = Adapts::doubles(self.model, self.batch, self.gpus);
                let steps = doubles.iter().enumerate().take(self.batches.len() - 1);
                due.extend(steps.map(|(index, epoch)| (*epoch, index + 1)));
            }
            Adapts::Accordion => {
                for epoch in 0..=self.epochs + 1 {
                    let stage = usize::from(!self.model.is_critical(self.batch, epoch, false));
                    if due.last().is_none_or(|last| last.1 != stage) {
                        due.push((epoch, stage));
                    }
                }
            }
        }
        due
    }

    /// The batch of every epoch, as profiles have it.
    pub(super) fn profile(&self) -> Vec<u32> {
        let (batch, epochs) = (self.batch, self.epochs);
        let most = self.batches.last().copied().unwrap_or(batch);
        let doubles = Adapts::doubles(self.model, batch, self.gpus);
        let of = |epoch: u32| match self.adapts {
            Adapts::Never => batch,
            // Whatever the rule says, the first three tenths of a job are critical.
            Adapts::Accordion => {
                let late = f64::from(epoch) > f64::from(epochs) * 0.3;
                let large = late && !self.model.is_critical(batch, epoch, true);
                if large { most } else { batch }
            }
            Adapts::Noise => {
                let times = doubles.iter().filter(|from| **from <= epoch).count();
                // The last epoch has its first batch again, if batches have doubled twice by then.
                let forgotten = epoch + 1 == epochs && times > 1;
                if forgotten { batch } else { (batch << times).min(most) }
            }
        };
        (0..epochs).map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_types_name_a_model_and_a_batch() {
        assert_eq!(Model::of("LM (batch size 10)"), Some((Language, 10)));
        assert_eq!(Model::of("LM (batch size 0)"), None);
        assert_eq!(Model::of("GPT (batch size 10)"), None);
    }

    fn plan(adapts: Adapts, model: Model, batch: u32, epochs: u32) -> Plan {
        let batches = adapts.batches(model, batch, 1);
        Plan { adapts, model, batch, gpus: 1, epochs, batches }
    }

    #[test]
    fn batches_double_where_gradients_grow_noisy() {
        let plan = plan(Adapts::Noise, Language, 10, 23);
        assert_eq!(plan.batches, [10, 20, 40, 80]);
        assert_eq!(plan.due(), [(0, 0), (11, 1), (21, 2), (41, 3)]);
        let profile = plan.profile();
        assert_eq!((profile[10], profile[11], profile[21], profile[22]), (10, 20, 40, 10));
    }

    #[test]
    fn accordion_takes_the_largest_batch_outside_of_critical_epochs() {
        let long = plan(Adapts::Accordion, ResNet18, 32, 200);
        assert_eq!(long.batches, [32, 256]);
        assert_eq!(long.due(), [(0, 0), (10, 1), (150, 0), (160, 1)]);
        let profile = plan(Adapts::Accordion, ResNet18, 32, 92).profile();
        assert_eq!((profile[27], profile[28]), (32, 256), "the first three tenths are critical");
        let largest = plan(Adapts::Accordion, ResNet18, 256, 92);
        assert_eq!(largest.batches, [256], "nothing is larger than the largest");
    }
}
