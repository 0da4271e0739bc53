//! `heeler whatif`: another future of the live cluster beside the one that is coming.

use super::asking::Asking;
use super::words;
use crate::arguments::pair;
use crate::mistake::Mistake;
use crate::show::{self, Table};
use crate::submit;
use anyhow::Result;
use clap::Args;
use heeler_api::{WhatIf, WhatIfAnswer};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  heeler whatif --recipe srtf                  under another recipe
  heeler whatif --quota vision=16              with another quota
  heeler whatif --nodes +2                     with two more nodes like the first
  heeler whatif --without n3                   without a node
  heeler whatif --job train.sh                 with one more job

The live cluster is not touched: a copy of it is simulated forward.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WhatIfCommand {
    /// Another recipe; knobs can follow, as in tiresias:promote=8
    #[arg(long, short, value_name = "RECIPE")]
    recipe: Option<String>,
    /// A knob of that recipe
    #[arg(long = "knob", short, value_name = "NAME=VALUE", value_parser = pair)]
    knobs: Vec<(String, String)>,
    /// Another quota
    #[arg(long = "quota", value_name = "TENANT=GPUS", value_parser = pair)]
    quotas: Vec<(String, String)>,
    /// So many more nodes like the first
    #[arg(long, value_name = "+N", value_parser = more)]
    nodes: Option<u32>,
    /// Without a node
    #[arg(long, value_name = "NODE")]
    without: Vec<String>,
    /// With one more job: a script or a YAML file, as `heeler submit` takes it
    #[arg(long, value_name = "FILE")]
    job: Option<PathBuf>,
    /// Show at most so many jobs
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    asking: Asking,
}

fn more(text: &str) -> Result<u32, String> {
    let number = text.strip_prefix('+').unwrap_or(text);
    number.parse().map_err(|_| format!("expected a number of nodes such as +2, found `{text}`"))
}

impl WhatIfCommand {
    pub(crate) fn run(&self) -> Result<()> {
        let question = self.question()?;
        if question == WhatIf::default() {
            let mistake = Mistake::new("what should be different?");
            return Err(mistake.hint("say --recipe, --quota, --nodes, --without or --job").into());
        }
        let answer: WhatIfAnswer = self.asking.client()?.post("/v1/whatif", &question)?;
        self.asking.print("whatif", &answer, |answer| self.text(answer))
    }

    fn question(&self) -> Result<WhatIf> {
        let mut knobs: Vec<(String, String)> = self.knobs.clone();
        let recipe = match &self.recipe {
            Some(text) => {
                let mut parts = text.split(':');
                let name = parts.next().unwrap_or_default().to_string();
                for part in parts {
                    knobs.push(pair(part).map_err(Mistake::new)?);
                }
                Some(name)
            }
            None => None,
        };
        let quota = |(tenant, gpus): &(String, String)| match gpus.parse::<u32>() {
            Ok(gpus) => Ok((tenant.clone(), gpus)),
            Err(_) => Err(Mistake::new(format!("`--quota {tenant}={gpus}`: expected GPUs"))),
        };
        let job = match &self.job {
            Some(path) => Some(submit::from_file(path)?.submission),
            None => None,
        };
        Ok(WhatIf {
            recipe,
            knobs: knobs.into_iter().collect(),
            quotas: self.quotas.iter().map(quota).collect::<Result<_, _>>()?,
            add_nodes: self.nodes.unwrap_or(0),
            without_nodes: self.without.clone(),
            job,
        })
    }

    fn text(&self, answer: &WhatIfAnswer) -> String {
        let mut table = Table::new(&["figure", "as it is>", "then>"]);
        for (name, now) in &answer.now {
            let shown = |value: f64| match name.ends_with("-s") {
                true => show::seconds(value),
                false => show::decimal(value),
            };
            let then = answer.then.get(name).map(|value| shown(*value));
            table.row([
                name.trim_end_matches("-s").to_string(),
                shown(*now),
                then.unwrap_or_default(),
            ]);
        }
        let mut text = table.text();
        let changed: Vec<_> = answer.jobs.iter().filter(|(_, now, then)| now != then).collect();
        if !changed.is_empty() {
            let mut jobs = Table::new(&["job>", "starts>", "then>"]);
            for (job, now, then) in changed.iter().take(self.limit) {
                let at = |at: &Option<f64>| at.map_or("not at all".into(), words::moment);
                jobs.row([job.to_string(), at(now), at(then)]);
            }
            text.push_str(&format!("\n{}", jobs.text()));
            if changed.len() > self.limit {
                text.push_str(&format!("… and {} more (--limit)\n", changed.len() - self.limit));
            }
        }
        for assumed in &answer.assumes {
            text.push_str(&format!("assumes {assumed}\n"));
        }
        text
    }
}
