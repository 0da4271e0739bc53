//! One replica of a language model: requests that wait, those whose prompts are read, and those
//! whose answers are written. Between changes of the batch its state is two numbers, how many
//! requests there are and how much they have read and written.

use super::cost::{Costs, NS, Run};
use crate::fleet::Work;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Part of the memory that is kept free when requests are taken in, so that they are not thrown out
/// at once: one in so many (vLLM's watermark of 1 %).
const SPARE: u64 = 100;

/// A request and how far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sequence {
    pub(super) at_ns: u64,
    pub(super) prompt: u32,
    pub(super) output: u32,
    /// Tokens written.
    pub(super) done: u32,
    /// Tokens read since it was last taken in …
    pub(super) read: u32,
    /// … and those that the present step reads.
    piece: u32,
    /// When the first token was there.
    pub(super) first_ns: u64,
    /// How many were taken in before it.
    order: u64,
}

impl Sequence {
    pub(super) fn new(at_ns: u64, prompt: u32, output: u32) -> Sequence {
        let (prompt, output) = (prompt.max(1), output.max(1));
        Sequence { at_ns, prompt, output, done: 0, read: 0, piece: 0, first_ns: 0, order: 0 }
    }

    /// What has to be read before it can go on: the prompt, and what was written before it lost its
    /// place.
    fn length(&self) -> u32 {
        self.prompt + self.done
    }
}

/// What a replica is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Step {
    /// Nothing.
    Idle,
    /// Reading prompts, and writing beside it if `beside`.
    Read { beside: bool },
    /// So many steps that write.
    Write { steps: u64 },
}

/// What a replica may do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Limits {
    pub(super) kv_tokens: u64,
    pub(super) batch_cap: u64,
    pub(super) prefill_tokens: u64,
    pub(super) chunk_tokens: Option<u64>,
    /// Take each step on its own: slower, with the same outcome. For tests.
    pub(super) stepwise: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Engine {
    pub(super) waiting: VecDeque<Sequence>,
    /// Taken in, not yet fully read.
    pub(super) reading: Vec<Sequence>,
    /// Memory that these will have taken when they are.
    reserved: u64,
    /// Being written, by the step after which they are finished.
    running: BinaryHeap<Reverse<(u64, u32)>>,
    places: Vec<Sequence>,
    free: Vec<u32>,
    /// What those being written have read and written: the memory that they take.
    context: u64,
    /// Tokens of prompts that wait.
    backlog: u64,
    /// Steps that wrote.
    written: u64,
    /// Requests taken in.
    taken: u64,
    /// Steps begun, for random numbers.
    pub(super) begun: u64,
    pub(super) step: Step,
    /// When the present step began: nanoseconds, and picoseconds beyond them.
    since: (u64, u64),
    run: Run,
}

impl Work for Engine {
    #[inline]
    fn load(&self) -> u64 {
        self.context + self.reserved + self.backlog
    }

    #[inline]
    fn requests(&self) -> u64 {
        (self.waiting.len() + self.reading.len() + self.running.len()) as u64
    }
}

impl Engine {
    pub(super) fn new() -> Engine {
        Engine {
            waiting: VecDeque::new(),
            reading: Vec::new(),
            reserved: 0,
            running: BinaryHeap::new(),
            places: Vec::new(),
            free: Vec::new(),
            context: 0,
            backlog: 0,
            written: 0,
            taken: 0,
            begun: 0,
            step: Step::Idle,
            since: (0, 0),
            run: Run::default(),
        }
    }

    /// Requests whose answers are being written.
    #[inline]
    pub(super) fn writing(&self) -> u64 {
        self.running.len() as u64
    }

    /// A request comes. Says whether the steps that are under way have to be looked at again.
    #[inline]
    pub(super) fn join(&mut self, sequence: Sequence) -> bool {
        self.backlog += u64::from(sequence.length());
        self.waiting.push_back(sequence);
        self.waiting.len() == 1
    }

    /// End the steps under way at the first boundary after now, if the request at the head of the
    /// queue could be taken in then. Says when that is, if it is sooner than it was.
    #[inline]
    pub(super) fn cut(&mut self, now_ns: u64, limits: &Limits) -> Option<u64> {
        let Step::Write { steps } = self.step else { return None };
        let (since_ns, since_ps) = self.since;
        let span_ps = (now_ns + 1 - since_ns) * NS - since_ps;
        let next = self.run.reaching(span_ps);
        let context = self.context + next * self.writing();
        if next >= steps || !self.may_take(context, limits) {
            return None;
        }
        self.step = Step::Write { steps: next };
        Some(self.end(next).0)
    }

    /// Whether the head of the queue could be taken in, with so much memory in use.
    #[inline]
    fn may_take(&self, in_use: u64, limits: &Limits) -> bool {
        let count = self.writing() + self.reading.len() as u64;
        let room = limits.chunk_tokens.is_none_or(|tokens| tokens > self.writing());
        let fits = |first: &Sequence| {
            let most = limits.kv_tokens - if count == 0 { 0 } else { limits.kv_tokens / SPARE };
            in_use + self.reserved + u64::from(first.length()) < most
        };
        count < limits.batch_cap && room && self.waiting.front().is_some_and(fits)
    }

    /// When so many steps from the present one on will have ended.
    #[inline]
    fn end(&self, steps: u64) -> (u64, u64) {
        let (since_ns, since_ps) = self.since;
        let total = since_ps + self.run.of(steps);
        (since_ns + total / NS, total % NS)
    }

    /// End the step or steps under way. Hands every request to `each` whose first token or whose
    /// answer is there.
    #[inline]
    pub(super) fn finish(&mut self, mut each: impl FnMut(Sequence, u64)) {
        let steps = match self.step {
            Step::Idle => return,
            Step::Read { .. } => 1,
            Step::Write { steps } => steps,
        };
        self.since = self.end(steps);
        let now_ns = self.since.0;
        if !matches!(self.step, Step::Read { beside: false }) {
            self.written += steps;
            self.context += steps * self.writing();
            while let Some(Reverse((last, place))) = self.running.peek().copied() {
                if last > self.written {
                    break;
                }
                self.running.pop();
                let mut sequence = self.places[place as usize];
                self.free.push(place);
                sequence.done = sequence.output;
                self.context -= u64::from(sequence.prompt) + u64::from(sequence.output);
                each(sequence, now_ns);
            }
        }
        if matches!(self.step, Step::Read { .. }) {
            self.finish_reading(each);
        }
        self.step = Step::Idle;
    }

    fn finish_reading(&mut self, mut each: impl FnMut(Sequence, u64)) {
        let now_ns = self.since.0;
        let mut unread = 0;
        for index in 0..self.reading.len() {
            let mut sequence = self.reading[index];
            sequence.read += sequence.piece;
            sequence.piece = 0;
            if sequence.read < sequence.length() {
                self.reading[unread] = sequence;
                unread += 1;
                continue;
            }
            self.reserved -= u64::from(sequence.length()) + 1;
            sequence.done += 1;
            if sequence.first_ns == 0 {
                sequence.first_ns = now_ns;
            }
            each(sequence, now_ns);
            if sequence.done < sequence.output {
                self.write(sequence);
            }
        }
        self.reading.truncate(unread);
    }

    /// A request goes over to those being written.
    fn write(&mut self, sequence: Sequence) {
        let last = self.written + u64::from(sequence.output - sequence.done);
        self.context += u64::from(sequence.length());
        let place = self.free.pop().unwrap_or(self.places.len() as u32);
        if let Some(free) = self.places.get_mut(place as usize) {
            *free = sequence;
        } else {
            self.places.push(sequence);
        }
        self.running.push(Reverse((last, place)));
    }

    /// Begin the next step or steps. Says when they end, if there is anything to do; `restarted`
    /// counts requests that lost their place.
    #[inline]
    pub(super) fn begin(
        &mut self,
        now_ns: u64,
        costs: &Costs,
        limits: &Limits,
        restarted: &mut u64,
    ) -> Option<u64> {
        if self.since.0 < now_ns {
            self.since = (now_ns, 0);
        }
        while self.context + self.reserved > limits.kv_tokens && !self.running.is_empty() {
            self.throw_out_newest();
            *restarted += 1;
        }
        let reads = match limits.chunk_tokens {
            None => self.take_in(costs, limits),
            Some(tokens) => self.take_pieces(tokens, costs, limits),
        };
        let writing = self.writing();
        if !reads && writing == 0 {
            return None;
        }
        if !reads {
            let next = self.running.peek().map_or(1, |Reverse((last, _))| last - self.written);
            let room = (limits.kv_tokens.saturating_sub(self.context + self.reserved)) / writing;
            let steps = if limits.stepwise { 1 } else { next.min(room + 1) };
            self.run = costs.decode(writing, self.context);
            self.step = Step::Write { steps };
        }
        self.begun += 1;
        Some(self.end_of_step())
    }

    /// When the step or steps under way end.
    #[inline]
    fn end_of_step(&self) -> u64 {
        self.end(if let Step::Write { steps } = self.step { steps } else { 1 }).0
    }

    /// Make the step just begun longer by a factor. Says when it ends.
    pub(super) fn stretch(&mut self, factor: f64) -> u64 {
        self.run = self.run.times(factor);
        self.end_of_step()
    }

    /// Take the head of the queue in.
    fn take(&mut self) -> Option<Sequence> {
        let mut sequence = self.waiting.pop_front()?;
        self.backlog -= u64::from(sequence.length());
        self.reserved += u64::from(sequence.length()) + 1;
        sequence.order = self.taken;
        sequence.read = 0;
        self.taken += 1;
        Some(sequence)
    }

    /// Begin a step that reads whole prompts, if any can be taken in.
    fn take_in(&mut self, costs: &Costs, limits: &Limits) -> bool {
        let (mut tokens, mut squares) = (0, 0.0);
        while self.may_take(self.context, limits) {
            let next = self.waiting.front().map_or(0, |first| u64::from(first.length()));
            if tokens > 0 && tokens + next > limits.prefill_tokens {
                break;
            }
            let Some(mut sequence) = self.take() else { break };
            sequence.piece = sequence.length();
            tokens += next;
            squares += (next * next) as f64;
            self.reading.push(sequence);
        }
        if tokens > 0 {
            self.run = Run { first_ps: costs.prefill(tokens, squares), more_ps: 0 };
            self.step = Step::Read { beside: false };
        }
        tokens > 0
    }

    /// Begin a step that writes, and reads as much as there is room for beside it, if any.
    fn take_pieces(&mut self, tokens: u64, costs: &Costs, limits: &Limits) -> bool {
        let mut room = tokens.saturating_sub(self.writing());
        let (mut read, mut squares) = (0, 0.0);
        let mut piece = |sequence: &mut Sequence, room: &mut u64| {
            let left = u64::from(sequence.length() - sequence.read);
            let size = left.min(*room);
            let before = f64::from(sequence.read);
            sequence.piece = size as u32;
            *room -= size;
            read += size;
            squares += (before + size as f64).powi(2) - before * before;
        };
        for sequence in &mut self.reading {
            piece(sequence, &mut room);
        }
        while room > 0 && self.may_take(self.context, limits) {
            let Some(mut sequence) = self.take() else { break };
            piece(&mut sequence, &mut room);
            self.reading.push(sequence);
        }
        if read > 0 {
            let writing = self.writing();
            let run = costs.decode(writing, self.context);
            self.run = Run { first_ps: costs.mixed(run, writing, read, squares), more_ps: 0 };
            self.step = Step::Read { beside: true };
        }
        read > 0
    }

    /// Memory has run out: the request taken in last goes back to the head of the queue, and has to
    /// be read again with all that was written.
    fn throw_out_newest(&mut self) {
        let order = |place: u32| self.places[place as usize].order;
        let mut running = std::mem::take(&mut self.running).into_vec();
        let newest = (0..running.len()).max_by_key(|index| order(running[*index].0.1));
        if let Some(index) = newest {
            let Reverse((last, place)) = running.swap_remove(index);
            let mut sequence = self.places[place as usize];
            self.free.push(place);
            sequence.done = sequence.output - (last - self.written) as u32;
            self.context -= u64::from(sequence.length());
            self.backlog += u64::from(sequence.length());
            self.waiting.push_front(sequence);
        }
        self.running = running.into();
    }

    /// All that it has, to begin anew elsewhere.
    pub(super) fn into_sequences(self) -> impl Iterator<Item = Sequence> {
        let places = self.places;
        let written = self.running.into_vec().into_iter();
        let written = written.map(move |Reverse((_, place))| places[place as usize]);
        let all = self.waiting.into_iter().chain(self.reading).chain(written);
        all.map(|sequence| Sequence {
            first_ns: sequence.first_ns,
            ..Sequence::new(sequence.at_ns, sequence.prompt, sequence.output)
        })
    }
}
