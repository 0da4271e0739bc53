//! What there is to say about a job, in words and as data.

use heeler_engine::{Noted, Verdict};
use heeler_model::{
    Assignment, JobId, KindId, KindSet, Naming, NodeId, Reason, Reservation, TenantId, Time, render,
};
use heeler_sim::{Outcome, Simulation};
use serde::Serialize;

/// Everything there is to say about one job.
#[derive(Serialize)]
pub(super) struct Answer {
    pub(super) job: String,
    pub(super) at_s: f64,
    pub(super) gpus: u32,
    pub(super) tenant: String,
    pub(super) submitted_s: f64,
    #[serde(flatten)]
    pub(super) said: Said,
    /// What the job was told at decisions so far.
    pub(super) noted: Option<NotedText>,
    pub(super) reserved: Option<Reserved>,
    /// What it was told of its deadline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) deadline: Option<Told>,
    /// When it starts and ends if the simulation goes on.
    pub(super) starts_s: Option<f64>,
    pub(super) ends_s: Option<f64>,
    /// The most GPUs, of fewer than it asks for, with which it would start now.
    pub(super) would_start_with: Option<u32>,
    #[serde(rename = "if")]
    pub(super) what_if: Option<WhatIf>,
}

#[derive(Serialize)]
pub(super) struct NotedText {
    pub(super) sentence: String,
    pub(super) since_s: f64,
    pub(super) decisions: u32,
}

#[derive(Serialize)]
pub(super) struct Reserved {
    pub(super) from_s: f64,
    pub(super) until_s: f64,
    pub(super) on: String,
}

/// What a job was told of its deadline.
#[derive(Serialize)]
pub(super) struct Told {
    pub(super) asked_s: f64,
    pub(super) offered_s: Option<f64>,
    pub(super) admitted: bool,
}

/// What a job was told of its deadline, while it is not done.
pub(super) fn deadline(simulation: &Simulation, job: JobId) -> Option<Told> {
    let promise = simulation.engine().state().jobs().get(job)?.promise?;
    let (asked_s, admitted) = (promise.asked.secs_f64(), promise.admitted);
    Some(Told { asked_s, offered_s: promise.offered.map(Time::secs_f64), admitted })
}

impl Told {
    fn text(&self) -> String {
        let at = |seconds: f64| Time::from_secs_f64(seconds).to_string();
        let asked = at(self.asked_s);
        match (self.admitted, self.offered_s) {
            (true, Some(offered)) if offered > self.asked_s => {
                format!("asked for {asked}, promised for {}", at(offered))
            }
            (true, offered) => format!("promised for {}", at(offered.unwrap_or(self.asked_s))),
            (false, Some(offered)) => {
                format!("asked for {asked}, refused; {} could be promised", at(offered))
            }
            (false, None) => format!("asked for {asked}, refused; nothing could be promised"),
        }
    }
}

/// What another request would have come to.
#[derive(Serialize)]
pub(super) struct WhatIf {
    pub(super) edit: String,
    #[serde(flatten)]
    pub(super) said: Said,
    pub(super) reserved: Option<Reserved>,
}

/// A verdict in words.
#[derive(Serialize)]
pub(super) struct Said {
    pub(super) is: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<Reason>,
    pub(super) sentence: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

/// A verdict in words, what was noted before, and what is reserved.
pub(super) fn said(
    simulation: &Simulation,
    job: JobId,
    verdict: &Verdict,
) -> (Option<NotedText>, Option<Reserved>, Said) {
    let names = Names(simulation);
    let plain = |is, sentence: String| Said { is, reason: None, sentence, hint: None };
    match verdict {
        Verdict::Unknown => (None, None, plain("unknown", "it was never submitted".into())),
        Verdict::Done => {
            let record = &simulation.records()[job];
            let ended = record.ended.map_or(String::new(), |ended| format!(" since {ended}"));
            let how = match record.outcome {
                Outcome::StoppedEarly => "it was stopped early and is over",
                Outcome::TurnedAway => "the recipe would not take it; it was turned away",
                _ => "it is done",
            };
            (None, None, plain("done", format!("{how}{ended}")))
        }
        Verdict::Running { since, on } => {
            let sentence = format!("it runs on {} since {since}", place(simulation, on));
            (None, None, plain("running", sentence))
        }
        Verdict::Starts { on, stops } => {
            let mut sentence = format!("it would start now on {}", place(simulation, on));
            if !stops.is_empty() {
                let stops: Vec<String> = stops.iter().map(|job| simulation.name(*job)).collect();
                sentence.push_str(&format!(", in place of {}", stops.join(", ")));
            }
            (None, None, plain("starts", sentence))
        }
        Verdict::Waits { reason, noted, reserved } => {
            let words = render(reason, &names);
            let said = Said {
                is: "waits",
                reason: Some(*reason),
                sentence: words.sentence,
                hint: words.hint,
            };
            let noted = noted.as_ref().map(|noted| noted_text(noted, &names));
            let reserved = reserved.as_ref().map(|it| reserved_text(simulation, it));
            (noted, reserved, said)
        }
    }
}

fn noted_text(noted: &Noted, names: &Names) -> NotedText {
    NotedText {
        sentence: render(&noted.reason, names).sentence,
        since_s: noted.since.secs_f64(),
        decisions: noted.times,
    }
}

fn reserved_text(simulation: &Simulation, reserved: &Reservation) -> Reserved {
    let on = Assignment::whole(reserved.placement.clone());
    Reserved {
        from_s: reserved.from.secs_f64(),
        until_s: reserved.until.secs_f64(),
        on: place(simulation, &on),
    }
}

/// `8 GPUs of n3`, `16 GPUs of n3 and n4`, `64 GPUs of 8 nodes`.
fn place(simulation: &Simulation, on: &Assignment) -> String {
    let name =
        |slice: &heeler_model::Slice| simulation.cluster().nodes[slice.node.index()].name.clone();
    let slices = on.placement.slices();
    let nodes = match slices {
        [] => return "no GPU".into(),
        [one] => name(one),
        [one, two] => format!("{} and {}", name(one), name(two)),
        [one, .., last] => format!("{} nodes from {} to {}", slices.len(), name(one), name(last)),
    };
    match on.gpus() {
        1 => format!("one GPU of {nodes}"),
        gpus => format!("{gpus} GPUs of {nodes}"),
    }
}

impl Answer {
    pub(super) fn text(&self, recipe: &str) -> String {
        let at = |seconds: f64| Time::from_secs_f64(seconds).to_string();
        let gpus = if self.gpus == 1 { "one GPU".into() } else { format!("{} GPUs", self.gpus) };
        let mut text = format!(
            "Job {} ({gpus}, tenant {}, submitted at {}) at {} under {recipe}: {}.\n",
            self.job,
            self.tenant,
            at(self.submitted_s),
            at(self.at_s),
            self.said.is
        );
        let mut line = |name: &str, words: &str| text.push_str(&format!("  {name:<9} {words}\n"));
        line("why", &self.said.sentence);
        // What was tried out says more than what usually helps.
        if let Some(hint) = self.said.hint.as_ref().filter(|_| self.would_start_with.is_none()) {
            line("hint", hint);
        }
        if let Some(gpus) = self.would_start_with {
            let gpus = if gpus == 1 { "one GPU".into() } else { format!("{gpus} GPUs") };
            line("helps", &format!("with {gpus} it would start now"));
        }
        if let Some(noted) = &self.noted {
            let times = if noted.decisions == 1 {
                "one decision".into()
            } else {
                format!("{} decisions", noted.decisions)
            };
            line("noted", &format!("{}; {times}, first at {}", noted.sentence, at(noted.since_s)));
        }
        if let Some(reserved) = &self.reserved {
            line("reserved", &format!("{} from {} on", reserved.on, at(reserved.from_s)));
        }
        if let Some(told) = &self.deadline {
            line("deadline", &told.text());
        }
        if let Some(starts) = self.starts_s {
            let wait = Time::from_secs_f64(starts).since(Time::from_secs_f64(self.at_s));
            line("starts", &format!("at {}, in {wait}, as this simulation goes on", at(starts)));
        }
        if let Some(ends) = self.ends_s.filter(|_| self.said.is != "done") {
            line("ends", &format!("at {}", at(ends)));
        }
        if let Some(what_if) = &self.what_if {
            line("if", &format!("{}: {}", what_if.edit, what_if.said.sentence));
            if let Some(reserved) = &what_if.reserved {
                line("", &format!("reserved: {} from {} on", reserved.on, at(reserved.from_s)));
            }
        }
        text
    }
}

/// Names for the numbers in reasons.
pub(super) struct Names<'a>(pub(super) &'a Simulation);

impl Naming for Names<'_> {
    fn job(&self, job: JobId) -> String {
        self.0.name(job)
    }

    fn node(&self, node: NodeId) -> String {
        self.0.cluster().nodes[node.index()].name.clone()
    }

    fn tenant(&self, tenant: TenantId) -> String {
        self.0.cluster().tenants[tenant.index()].name.clone()
    }

    fn kinds(&self, kinds: KindSet) -> String {
        let all = self.0.cluster().kinds.iter().enumerate();
        let named = all.filter(|(index, _)| kinds.contains(KindId(*index as u8)));
        named.map(|(_, kind)| kind.name.as_str()).collect::<Vec<_>>().join(" or ")
    }
}
