//! A language model with continuous batching (Orca, OSDI 2022; vLLM, SOSP 2023): a step either
//! reads prompts or writes one token for every request. Steps that differ only in how much was
//! written are taken together, since the sum of their costs has a closed form.

mod card;
mod cost;
mod replica;
#[cfg(test)]
mod tests;

pub use card::{DecodeCard, LargeCard, LlmCard, PrefillCard};

use crate::arrivals::{Arrivals, Request, Traffic};
use crate::batch::RouterCard;
use crate::card::Setting;
use crate::fleet::{Fleet, Phase, Work};
use crate::random::draws;
use crate::tally::Tally;
use crate::{Answer, Cell, Replicas, Summary, ms_to_ns};
use cost::Costs;
use replica::{Engine, Limits, Sequence, Step};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A cell of language models.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Llm {
    targets: Targets,
    costs: Costs,
    limits: Limits,
    router: RouterCard,
    noise_cv: f64,
    traffic: Traffic,
    now_ns: u64,
    fleet: Fleet<Engine>,
    /// Came while no replica served.
    front: VecDeque<Sequence>,
    tally: Tally,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Targets {
    first_token_ns: u64,
    per_token_ns: u64,
}

impl Llm {
    /// A cell without replicas.
    pub fn new(card: &LlmCard, traffic: Traffic, setting: Setting) -> Llm {
        Llm {
            targets: Targets {
                first_token_ns: ms_to_ns(card.first_token_target_ms),
                per_token_ns: ms_to_ns(card.per_token_target_ms),
            },
            costs: Costs::new(card),
            limits: Limits {
                kv_tokens: card.kv_tokens,
                batch_cap: u64::from(card.batch_cap),
                prefill_tokens: u64::from(card.prefill_tokens),
                chunk_tokens: card.chunk_tokens.map(u64::from),
                stepwise: false,
            },
            router: card.router,
            noise_cv: card.noise_cv,
            traffic,
            now_ns: setting.from_ns,
            fleet: Fleet::new(setting),
            front: VecDeque::new(),
            tally: Tally::new(setting.from_ns),
        }
    }

    /// Take every step on its own from now on. That is much slower and changes nothing, which is
    /// what it is for: a check of the closed form.
    pub fn go_step_by_step(&mut self) {
        self.limits.stepwise = true;
    }

    /// A request comes.
    #[inline]
    fn arrive(&mut self, request: Request) {
        self.tally.summary.arrived += 1;
        let sequence = Sequence::new(request.at_ns, request.prompt, request.output);
        // What does not fit into the memory of a replica alone would never be answered.
        if u64::from(sequence.prompt) + u64::from(sequence.output) >= self.limits.kv_tokens {
            self.tally.summary.rejected += 1;
            return;
        }
        let to = self.fleet.route(self.router);
        self.join(sequence, to);
    }

    /// A request joins the queue of a replica, or waits until there is one.
    #[inline]
    fn join(&mut self, sequence: Sequence, to: Option<usize>) {
        let Some(index) = to else {
            self.front.push_back(sequence);
            return;
        };
        let engine = &mut self.fleet.replicas[index].work;
        let first = engine.join(sequence);
        if engine.step == Step::Idle {
            self.tally.busy(self.now_ns, 1);
            self.begin(index);
        } else if first && let Some(wake_ns) = engine.cut(self.now_ns, &self.limits) {
            self.fleet.wake_at(index, wake_ns);
        }
    }

    /// Let a replica begin what comes next.
    #[inline]
    fn begin(&mut self, index: usize) {
        let replica = &mut self.fleet.replicas[index];
        let engine = &mut replica.work;
        let restarted = &mut self.tally.summary.restarted;
        let mut wake_ns = engine.begin(self.now_ns, &self.costs, &self.limits, restarted);
        if self.noise_cv > 0.0 && wake_ns.is_some() {
            let mut draws = draws(self.fleet.key, replica.number, engine.begun);
            wake_ns = Some(engine.stretch(draws.log_normal(self.noise_cv)));
        }
        if matches!(engine.step, Step::Read { .. }) {
            self.tally.summary.batch_sizes.add(engine.reading.len() as u64);
        }
        if let Some(wake_ns) = wake_ns {
            self.fleet.wake_at(index, wake_ns);
        } else {
            self.tally.busy(self.now_ns, -1);
        }
    }

    /// Something happens on a replica.
    #[inline]
    fn wake(&mut self, index: usize) {
        let replica = &mut self.fleet.replicas[index];
        if replica.phase == Phase::Loading {
            if self.fleet.serve(index, self.now_ns) {
                for sequence in std::mem::take(&mut self.front) {
                    let to = self.fleet.route(self.router);
                    self.join(sequence, to);
                }
            }
            return;
        }
        let (tally, targets) = (&mut self.tally, self.targets);
        replica.work.finish(|sequence, at_ns| targets.count(tally, &sequence, at_ns));
        self.begin(index);
        self.fleet.retire(index, self.now_ns, &mut self.tally);
    }
}

impl Targets {
    /// Count what has come of a request: its first token, its answer, or both.
    #[inline]
    fn count(self, tally: &mut Tally, sequence: &Sequence, now_ns: u64) {
        let Sequence { at_ns, first_ns, .. } = *sequence;
        let waited_ns = first_ns - at_ns;
        let summary = &mut tally.summary;
        // One that began anew elsewhere had its first token before.
        if sequence.done == 1 && first_ns == now_ns {
            summary.prompt_tokens += u64::from(sequence.prompt);
            summary.first_token.add(waited_ns);
        }
        if sequence.done < sequence.output {
            return;
        }
        let mut late = waited_ns > self.first_token_ns;
        if sequence.output > 1 {
            let each_ns = (now_ns - first_ns) / u64::from(sequence.output - 1);
            summary.per_token.add(each_ns);
            late |= each_ns > self.per_token_ns;
        }
        summary.answered += 1;
        summary.late += u64::from(late);
        summary.output_tokens += u64::from(sequence.output);
        summary.latency.add(now_ns - at_ns);
        tally.keep(Answer { at_ns, first_ns, end_ns: now_ns });
    }
}

impl Cell for Llm {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn advance(&mut self, until_ns: u64) {
        loop {
            let (wake_ns, index) = self.fleet.next();
            let arrival_ns = self.traffic.next_ns();
            let next_ns = wake_ns.min(arrival_ns);
            if next_ns > until_ns || next_ns == u64::MAX {
                break;
            }
            // What ends makes room for what comes at the same moment.
            if wake_ns <= arrival_ns {
                if self.fleet.pop() {
                    self.now_ns = wake_ns;
                    self.wake(index);
                }
            } else if let Some(request) = self.traffic.next() {
                self.now_ns = self.now_ns.max(arrival_ns);
                self.arrive(request);
            }
        }
        if until_ns < u64::MAX {
            self.now_ns = self.now_ns.max(until_ns);
        }
    }

    fn set_replicas(&mut self, at_ns: u64, count: u32) {
        self.advance(at_ns);
        let now_ns = self.now_ns;
        for _ in count..self.fleet.staying() {
            self.fleet.drain_one(now_ns, &mut self.tally);
        }
        for _ in self.fleet.staying()..count {
            self.fleet.add(now_ns, Engine::new(), &mut self.tally);
        }
        // Without a load time they serve at once.
        self.advance(now_ns);
    }

    fn lose_replicas(&mut self, at_ns: u64, count: u32) {
        self.advance(at_ns);
        let mut orphans = Vec::new();
        for _ in 0..count {
            let Some(engine) = self.fleet.lose_one(self.now_ns, &mut self.tally) else { break };
            self.tally.busy(self.now_ns, -i64::from(engine.step != Step::Idle));
            orphans.extend(engine.into_sequences());
        }
        orphans.sort_by_key(|sequence| sequence.at_ns);
        self.tally.summary.restarted += orphans.len() as u64;
        for sequence in orphans {
            let to = self.fleet.route(self.router);
            self.join(sequence, to);
        }
    }

    fn replicas(&self) -> Replicas {
        self.fleet.count()
    }

    fn look(&mut self) -> Summary {
        let engines = || self.fleet.replicas.iter().map(|replica| &replica.work);
        let waiting = engines().map(|engine| engine.waiting.len() as u64).sum::<u64>();
        let running = engines().map(Work::requests).sum::<u64>() - waiting;
        self.tally.look(self.now_ns, waiting + self.front.len() as u64, running)
    }

    fn next_ns(&self) -> Option<u64> {
        let next = self.fleet.next().0.min(self.traffic.next_ns());
        (next < u64::MAX).then_some(next)
    }

    fn keep_answers(&mut self) {
        self.tally.keep_answers();
    }

    fn answers(&self) -> &[Answer] {
        self.tally.answers()
    }
}
