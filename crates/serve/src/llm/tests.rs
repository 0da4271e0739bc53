//! Tests of language models: worked examples, memory that runs out, and steps taken together
//! against a plain loop over tokens.

use super::*;
use crate::SECOND_NS;
use crate::arrivals::{LengthsCard, TrafficCard};
use proptest::prelude::*;

fn card() -> LlmCard {
    LlmCard {
        first_token_target_ms: 400.0,
        per_token_target_ms: 100.0,
        prefill: PrefillCard { fixed_ms: 10.0, per_token_ms: 0.1, per_square_ms: 0.0 },
        decode: DecodeCard { fixed_ms: 20.0, per_context_token_ms: 0.001, per_request_ms: 0.1 },
        decode_large: None,
        kv_tokens: 60_000,
        batch_cap: 256,
        prefill_tokens: 4_096,
        chunk_tokens: None,
        router: RouterCard::ShortestQueue,
        noise_cv: 0.0,
    }
}

fn start(card: &LlmCard, requests: &[(u64, u32, u32)], replicas: u32) -> Llm {
    let request = |(ms, prompt, output): &(u64, u32, u32)| Request {
        at_ns: ms * 1_000_000,
        prompt: *prompt,
        output: *output,
        key: 0,
    };
    let traffic = Traffic::listed(requests.iter().map(request).collect::<Vec<_>>());
    let mut cell = Llm::new(card, traffic, Setting::default());
    cell.keep_answers();
    cell.set_replicas(0, replicas);
    cell
}

fn answers_ms(cell: &Llm) -> Vec<(f64, f64)> {
    let mut answers = cell.answers().to_vec();
    answers.sort_unstable();
    let ms = |ns: u64| (ns as f64 / 1e3).round() / 1e3;
    answers.iter().map(|answer| (ms(answer.first_ns), ms(answer.end_ns))).collect()
}

#[test]
fn one_request_by_hand() {
    let mut cell = start(&card(), &[(0, 100, 3)], 1);
    cell.advance(SECOND_NS);
    // 10 + 100 · 0.1 for the prompt, then two steps over 101 and 102 tokens.
    assert_eq!(answers_ms(&cell), [(20.0, 60.403)]);
    let summary = cell.look();
    assert_eq!((summary.prompt_tokens, summary.output_tokens), (100, 3));
    assert_eq!((summary.answered, summary.late, summary.busy_ns), (1, 0, 60_403_000));
}

#[test]
fn prompts_go_before_tokens() {
    let mut cell = start(&card(), &[(0, 100, 4), (25, 200, 2)], 1);
    cell.advance(SECOND_NS);
    // The first step of the first request ends at 40.201; then the second is read until 70.201;
    // then both are written, which takes 20 + 0.2 + 0.102 + 0.201, and then the first: 20.203.
    assert_eq!(answers_ms(&cell), [(20.0, 110.907), (70.201, 90.704)]);
}

#[test]
fn chunks_let_tokens_go_on() {
    let waits = |chunk_tokens| {
        let card = LlmCard { chunk_tokens, ..card() };
        let mut cell = start(&card, &[(0, 100, 20), (50, 4_000, 20)], 1);
        cell.advance(u64::MAX);
        let answers = answers_ms(&cell);
        (answers[0].1, answers[1].0)
    };
    let (whole, whole_first) = waits(None);
    let (chunked, chunked_first) = waits(Some(512));
    assert!(chunked < whole, "the first request waits less: {chunked} against {whole}");
    assert!(chunked_first > whole_first, "{chunked_first} against {whole_first}");
}

#[test]
fn memory_that_runs_out_throws_out_the_newest() {
    let card = LlmCard { kv_tokens: 400, ..card() };
    let mut cell = start(&card, &[(0, 150, 100), (1, 150, 100)], 1);
    cell.advance(u64::MAX);
    let summary = cell.look();
    assert_eq!((summary.answered, summary.restarted), (2, 1));
    let answers = answers_ms(&cell);
    assert!(answers[0].1 < answers[1].1);
    // What would never fit is turned away.
    let mut cell = start(&card, &[(0, 350, 100)], 1);
    cell.advance(u64::MAX);
    assert_eq!(cell.look().rejected, 1);
}

#[test]
fn no_more_at_a_time_than_allowed() {
    let card = LlmCard { batch_cap: 2, ..card() };
    let mut cell = start(&card, &[(0, 10, 5), (0, 10, 5), (0, 10, 5)], 1);
    cell.advance(30 * 1_000_000);
    let look = cell.look();
    assert_eq!((look.running, look.waiting), (2, 1));
    cell.advance(u64::MAX);
    assert_eq!(cell.look().answered, 3);
}

#[test]
fn a_lost_replica_hands_its_requests_on() {
    let requests: Vec<(u64, u32, u32)> = (0..20).map(|i| (i * 10, 100, 50)).collect();
    let mut cell = start(&card(), &requests, 2);
    cell.lose_replicas(500 * 1_000_000, 1);
    assert_eq!(cell.replicas(), Replicas { serving: 1, ..Replicas::default() });
    cell.advance(u64::MAX);
    let summary = cell.look();
    assert_eq!((summary.answered, summary.restarted), (20, 10));
}

#[test]
fn steps_may_vary() {
    let traffic = TrafficCard {
        lengths: Some(LengthsCard::Fixed { prompt: 100, output: 100 }),
        ..TrafficCard::poisson(2.0)
    };
    let mean = |noise_cv| {
        let traffic = Traffic::new(&traffic, 1, 1, 0, 500 * SECOND_NS);
        let mut cell = Llm::new(&LlmCard { noise_cv, ..card() }, traffic, Setting::default());
        cell.set_replicas(0, 1);
        cell.advance(u64::MAX);
        let summary = cell.look();
        (summary.per_token.mean(), summary.per_token.quantile(0.9))
    };
    let (plain, plain_tail) = mean(0.0);
    let (noisy, noisy_tail) = mean(0.3);
    assert!((noisy / plain - 1.0).abs() < 0.05);
    assert!(noisy_tail > plain_tail);
}

/// A request of the plain loop, in milliseconds.
#[derive(Clone)]
struct One {
    at: f64,
    prompt: u64,
    output: u64,
    done: u64,
    first: f64,
}

impl One {
    fn new(request: &Request) -> One {
        let (prompt, output) = (u64::from(request.prompt), u64::from(request.output));
        One { at: request.at_ns as f64 / 1e6, prompt, output, done: 0, first: 0.0 }
    }

    fn length(&self) -> u64 {
        self.prompt + self.done
    }
}

fn context(running: &[One]) -> u64 {
    running.iter().map(One::length).sum()
}

/// Those that the next step reads.
fn admitted(card: &LlmCard, waiting: &mut VecDeque<One>, running: &[One]) -> Vec<One> {
    let mut read: Vec<One> = Vec::new();
    while let Some(first) = waiting.front() {
        let count = running.len() + read.len();
        let spare = if count == 0 { 0 } else { card.kv_tokens / 100 };
        let taken: u64 = read.iter().map(|s| s.length() + 1).sum();
        let fits = context(running) + taken + first.length() < card.kv_tokens - spare;
        let tokens = context(&read) + first.length();
        let many = !read.is_empty() && tokens > u64::from(card.prefill_tokens);
        if count >= card.batch_cap as usize || !fits || many {
            break;
        }
        read.extend(waiting.pop_front());
    }
    read
}

/// One replica, token by token, in milliseconds, written as plainly as possible.
fn token_by_token(card: &LlmCard, requests: &[Request]) -> Vec<(f64, f64, f64)> {
    let mut coming: VecDeque<One> = requests.iter().map(One::new).collect();
    let (mut waiting, mut running) = (VecDeque::<One>::new(), Vec::<One>::new());
    let (mut now, mut answers) = (0.0, Vec::new());
    loop {
        if running.is_empty() && waiting.is_empty() {
            let Some(first) = coming.pop_front() else { return answers };
            now = f64::max(now, first.at);
            waiting.push_back(first);
        }
        while let Some(first) = coming.pop_front_if(|first| first.at < now) {
            waiting.push_back(first);
        }
        while context(&running) > card.kv_tokens {
            waiting.push_front(running.pop().expect("one alone fits"));
        }
        let read = admitted(card, &mut waiting, &running);
        if read.is_empty() {
            let large = card.decode_large.filter(|large| running.len() >= large.from as usize);
            let cost = large.map_or(card.decode, |large| large.decode);
            now += cost.fixed_ms
                + cost.per_request_ms * running.len() as f64
                + cost.per_context_token_ms * context(&running) as f64;
            running.iter_mut().for_each(|s| s.done += 1);
        } else {
            let lengths = || read.iter().map(|s| s.length() as f64);
            now += card.prefill.fixed_ms
                + card.prefill.per_token_ms * lengths().sum::<f64>()
                + card.prefill.per_square_ms * lengths().map(|l| l * l).sum::<f64>();
            for mut s in read {
                s.first = if s.done == 0 { now } else { s.first };
                s.done += 1;
                running.push(s);
            }
        }
        for s in running.extract_if(.., |s| s.done == s.output) {
            answers.push((s.at, s.first, now));
        }
    }
}

fn sorted(mut answers: Vec<(f64, f64, f64)>) -> Vec<(f64, f64, f64)> {
    answers.sort_by(|a, b| a.partial_cmp(b).expect("all are numbers"));
    answers
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn steps_together_are_steps_one_by_one(
        seed in 0_u64..10_000,
        rate in 0.2..6.0_f64,
        prompt_mean in 20.0..1_500.0_f64,
        output_mean in 1.0..300.0_f64,
        kv_tokens in 4_000_u64..40_000,
        batch_cap in 1_u32..64,
        square in 0.0..1e-5_f64,
        large_from in 2_u32..40,
        chunk in prop::option::of(32_u32..1_024),
    ) {
        let (prompt_cv, output_cv, most) = (1.0, 1.0, 1_900);
        let lengths =
            LengthsCard::LogNormal { prompt_mean, prompt_cv, output_mean, output_cv, most };
        let traffic = TrafficCard { lengths: Some(lengths), ..TrafficCard::poisson(rate) };
        let requests: Vec<Request> =
            Traffic::new(&traffic, seed, 0, 0, 100 * SECOND_NS).collect();
        let mut card = LlmCard { kv_tokens, batch_cap, chunk_tokens: chunk, ..card() };
        card.prefill.per_square_ms = square;
        let decode = DecodeCard { fixed_ms: 15.0, per_request_ms: 0.2, ..card.decode };
        card.decode_large = Some(LargeCard { from: large_from, decode });
        let run = |stepwise: bool| {
            let traffic = Traffic::listed(requests.clone());
            let mut cell = Llm::new(&card, traffic, Setting::default());
            cell.keep_answers();
            cell.set_replicas(0, 1);
            if stepwise {
                cell.go_step_by_step();
            }
            cell.advance(u64::MAX);
            let mut answers = cell.answers().to_vec();
            answers.sort_unstable();
            (answers, cell.look())
        };
        let (jumped, summary) = run(false);
        let (stepped, same) = run(true);
        prop_assert_eq!(&jumped, &stepped);
        prop_assert_eq!(&summary, &same);
        prop_assert_eq!(jumped.len(), requests.len());
        if chunk.is_none() {
            let ms = |ns: u64| ns as f64 / 1e6;
            let jumped = jumped.iter().map(|a| (ms(a.at_ns), ms(a.first_ns), ms(a.end_ns)));
            let plain = sorted(token_by_token(&card, &requests));
            for (ours, plain) in sorted(jumped.collect()).into_iter().zip(plain) {
                // A microsecond.
                prop_assert!((ours.1 - plain.1).abs() < 1e-3, "{ours:?} {plain:?}");
                prop_assert!((ours.2 - plain.2).abs() < 1e-3, "{ours:?} {plain:?}");
            }
        }
    }
}
