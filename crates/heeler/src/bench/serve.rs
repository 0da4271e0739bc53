//! Requests to served models: how many a CPU second holds, beside a loop that keeps every arrival
//! and every answer of the same services in one heap, and for language models beside steps one by
//! one.

use super::clock::{median, timed};
use super::report::Figure;
use super::{Scope, step};
use anyhow::Result;
use heeler_serve::arrivals::LengthsCard;
use heeler_serve::batch::{Batch, BatchCard, BatcherCard, LatencyCard};
use heeler_serve::llm::{DecodeCard, LargeCard, Llm, LlmCard, PrefillCard};
use heeler_serve::{
    Cell, Histogram, Recurrence, RecurrenceCard, Request, RouterCard, Setting, Traffic, TrafficCard,
};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

const REQUESTS: usize = 4_000_000;
const LLM_REQUESTS: usize = 1_000_000;
const CELLS: usize = 16;
const REPLICAS: u32 = 4;
const CAP: u32 = 16;
const ROUNDS: usize = 3;

/// A batch of b requests takes 4 + 1.5 b milliseconds.
const FIXED_MS: f64 = 4.0;
const EACH_MS: f64 = 1.5;

const BATCH_FLOOR_PER_S: f64 = 5e6;
const LLM_FLOOR_PER_S: f64 = 3e6;

/// The requests of each service, made beforehand.
type Lists = Vec<Arc<[Request]>>;

/// Requests per CPU second in each fidelity.
pub(super) fn measure(scope: &Scope) -> Result<Vec<Figure>> {
    let count = scope.of(REQUESTS) / CELLS;
    let heap = "one heap for all events";
    // Four fifths of what the replicas can answer.
    let rate_of = |cap: u32| {
        let batch_s = (FIXED_MS + EACH_MS * f64::from(cap)) / 1e3;
        0.8 * f64::from(REPLICAS * cap) / batch_s
    };
    step(&format!("serve: {} requests one at a time", count * CELLS));
    let lists = make(&TrafficCard::poisson(rate_of(1)), count);
    let rates = race(&lists, |list| run(recurrence(list)), |lists| one_heap(lists, 1));
    let recurrence = Figure::new("serve recurrence".into(), rates.0, "/s").against(heap, rates.1);
    step(&format!("serve: {} requests in batches", count * CELLS));
    let lists = make(&TrafficCard::poisson(rate_of(CAP)), count);
    let rates = race(&lists, |list| run(batch(list)), |lists| one_heap(lists, CAP));
    let batch = Figure::new("serve batch".into(), rates.0, "/s").against(heap, rates.1);
    let count = scope.of(LLM_REQUESTS) / CELLS;
    step(&format!("serve: {} requests to language models", count * CELLS));
    let (prompt_mean, prompt_cv, output_mean, output_cv) = (754.0, 0.8, 232.0, 0.8);
    let most = 2_048;
    let lengths = LengthsCard::LogNormal { prompt_mean, prompt_cv, output_mean, output_cv, most };
    let lists = make(&TrafficCard { lengths: Some(lengths), ..TrafficCard::poisson(1.5) }, count);
    let token_by_token = |lists: &Lists| {
        for list in lists {
            let mut cell = llm(list);
            cell.go_step_by_step();
            run(cell);
        }
    };
    let rates = race(&lists, |list| run(llm(list)), token_by_token);
    let llm = Figure::new("serve llm".into(), rates.0, "/s").against("token by token", rates.1);
    Ok(vec![recurrence, batch.at_least(BATCH_FLOOR_PER_S), llm.at_least(LLM_FLOOR_PER_S)])
}

/// Requests per CPU second, and how many times as many as the peer.
fn race(lists: &Lists, ours: impl Fn(&Arc<[Request]>), peer: impl Fn(&Lists)) -> (f64, f64) {
    let requests = lists.iter().map(|list| list.len()).sum::<usize>() as f64;
    let (mut rates, mut ratios) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let ((), before) = timed(|| peer(lists));
        let ((), seconds) = timed(|| lists.iter().for_each(&ours));
        let ((), after) = timed(|| peer(lists));
        rates.push(requests / seconds);
        ratios.push((before + after) / 2.0 / seconds);
    }
    (median(rates), median(ratios))
}

fn make(card: &TrafficCard, count: usize) -> Lists {
    let list = |stream| Traffic::new(card, 1, stream, 0, u64::MAX).take(count).collect();
    (0..CELLS as u64).map(list).collect()
}

fn run(mut cell: impl Cell) {
    cell.set_replicas(0, REPLICAS);
    cell.advance(u64::MAX);
    std::hint::black_box(cell.look().answered);
}

fn recurrence(list: &Arc<[Request]>) -> Recurrence {
    let stages_ms = vec![FIXED_MS + EACH_MS];
    let card = RecurrenceCard { target_ms: 100.0, stages_ms, overhead_ms: 0.0, admit: false };
    Recurrence::new(&card, Traffic::listed(Arc::clone(list)), Setting::default())
}

fn batch(list: &Arc<[Request]>) -> Batch {
    let card = BatchCard {
        target_ms: 100.0,
        latency: LatencyCard::Linear { fixed_ms: FIXED_MS, per_request_ms: EACH_MS },
        noise_cv: 0.0,
        batcher: BatcherCard::Fixed(CAP),
        delay_ms: 0.0,
        router: RouterCard::ShortestQueue,
        admit: false,
        expire: false,
        cache: 0,
    };
    Batch::new(&card, Traffic::listed(Arc::clone(list)), Setting::default())
}

/// A model of 13 thousand million parameters on an A100, about as DistServe (OSDI 2024) measured
/// it.
fn llm(list: &Arc<[Request]>) -> Llm {
    let decode = |fixed_ms, per_context_token_ms, per_request_ms| DecodeCard {
        fixed_ms,
        per_context_token_ms,
        per_request_ms,
    };
    let card = LlmCard {
        first_token_target_ms: 400.0,
        per_token_target_ms: 100.0,
        prefill: PrefillCard { fixed_ms: 22.0, per_token_ms: 0.14, per_square_ms: 8e-6 },
        decode: decode(23.5, 6e-4, 0.06),
        decode_large: Some(LargeCard { from: 95, decode: decode(20.2, 5e-4, 0.12) }),
        kv_tokens: 66_000,
        batch_cap: 256,
        prefill_tokens: 4_096,
        chunk_tokens: None,
        router: RouterCard::ShortestQueue,
        noise_cv: 0.0,
    };
    Llm::new(&card, Traffic::listed(Arc::clone(list)), Setting::default())
}

/// What happens in the peer: a request to a service comes, or one of a replica is answered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Answer { replica: u32, at_ns: u64 },
    Arrival { cell: u32 },
}

#[derive(Clone, Default)]
struct Queue {
    waiting: VecDeque<u64>,
    running: u32,
}

/// The same services with every arrival and every answer in one heap, as most simulators have it.
fn one_heap(lists: &Lists, cap: u32) {
    let mut heap = BinaryHeap::new();
    for (cell, list) in lists.iter().enumerate() {
        let event = Event::Arrival { cell: cell as u32 };
        heap.extend(list.iter().map(|request| Reverse((request.at_ns, event))));
    }
    let mut queues = vec![Queue::default(); lists.len() * REPLICAS as usize];
    let mut latency = Histogram::default();
    while let Some(Reverse((now_ns, event))) = heap.pop() {
        let index = match event {
            Event::Arrival { cell } => {
                let first = (cell * REPLICAS) as usize;
                let length =
                    |index: &usize| queues[*index].waiting.len() + queues[*index].running as usize;
                let index = (first..first + REPLICAS as usize).min_by_key(length).unwrap_or(first);
                queues[index].waiting.push_back(now_ns);
                index
            }
            Event::Answer { replica, at_ns } => {
                latency.add(now_ns - at_ns);
                queues[replica as usize].running -= 1;
                replica as usize
            }
        };
        let queue = &mut queues[index];
        let size = queue.waiting.len().min(cap as usize);
        if queue.running == 0 && size > 0 {
            let end_ns = now_ns + ((FIXED_MS + EACH_MS * size as f64) * 1e6) as u64;
            queue.running = size as u32;
            for at_ns in queue.waiting.drain(..size) {
                heap.push(Reverse((end_ns, Event::Answer { replica: index as u32, at_ns })));
            }
        }
    }
    std::hint::black_box(latency.count());
}
