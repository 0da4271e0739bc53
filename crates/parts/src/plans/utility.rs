//! What a job is worth, by how long it takes from submission to end.

use heeler_model::{Deadline, JobSpec, Span, Time};

/// What a job is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Utility {
    /// Falls from all of its value to nothing around a target: its first deadline, or so many times
    /// its own length after its submission.
    Sigmoid {
        /// How steeply; with 0 it is worth half, whenever it ends.
        steepness: f64,
        /// The target, in lengths of the job.
        target: f64,
    },
    /// All of its value until the last deadline, or so many lengths after its submission, and then
    /// nothing.
    Weight {
        /// The time limit, in lengths of the job.
        target: f64,
    },
}

impl Utility {
    /// The value of a job: that of its first deadline, or one more than its priority.
    pub fn value(spec: &JobSpec) -> f64 {
        let said = spec.deadlines().first().map(|deadline| deadline.value as f64);
        said.unwrap_or(f64::from(spec.priority) + 1.0).max(1.0)
    }

    /// What it is worth if a job of this length, as it asked to run, ends at a time.
    pub fn worth(&self, spec: &JobSpec, submitted: Time, length_s: f64, end: Time) -> f64 {
        let value = Utility::value(spec);
        let taken = end.since(submitted).secs_f64();
        let until = |deadline: Option<&Deadline>, target: f64| {
            let asked = deadline.map(|deadline| deadline.at.since(submitted));
            asked.map_or(target * length_s, Span::secs_f64).max(1.0)
        };
        let deadlines = spec.deadlines();
        match *self {
            Utility::Sigmoid { steepness, target } => {
                let late = taken / until(deadlines.first(), target) - 1.0;
                value / (1.0 + (steepness * late).exp())
            }
            Utility::Weight { target } if taken <= until(deadlines.last(), target) => value,
            Utility::Weight { .. } => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heeler_model::Demand;

    #[test]
    fn worth_falls_around_the_target() {
        let mut spec = JobSpec::new(Demand::gpus(1));
        spec.priority = 9;
        let worth = |utility: Utility, end_s: u64| {
            utility.worth(&spec, Time::ZERO, 100.0, Time::from_secs(end_s))
        };
        let sigmoid = Utility::Sigmoid { steepness: 4.0, target: 2.0 };
        assert!((worth(sigmoid, 200) - 5.0).abs() < 1e-9, "half of its value at the target");
        assert!(worth(sigmoid, 100) > 8.0 && worth(sigmoid, 400) < 0.2);
        let weight = Utility::Weight { target: 2.0 };
        assert_eq!([200, 201].map(|end_s| worth(weight, end_s)), [10.0, 0.0]);
    }
}
