//! The peer of every simulation: a loop that does nothing but keep events in order. No simulator
//! that has a queue of events can be faster than this, whatever machine it runs on.

use super::clock::timed;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// As large as an event of the simulator: when, in which order, and what.
type Entry = Reverse<(u64, u64, [u32; 4])>;

/// CPU seconds to put in and take out two events for each of `jobs`, with `pending` in the queue.
pub(super) fn seconds(jobs: usize, pending: usize) -> f64 {
    let mut random: u64 = 1;
    let mut gap = move || {
        // Knuth's linear congruential generator: good enough to shuffle events, and almost free.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        random >> 40
    };
    let mut heap: BinaryHeap<Entry> = BinaryHeap::with_capacity(pending + 1);
    for number in 0..pending as u64 {
        heap.push(Reverse((gap(), number, [0; 4])));
    }
    let turn = || {
        let mut sum = 0;
        for number in 0..2 * jobs as u64 {
            heap.push(Reverse((sum + gap(), number, [1; 4])));
            let Reverse((at, _, what)) = heap.pop().expect("one was just put in");
            sum = at + u64::from(what[0] / 2);
        }
        sum
    };
    let (sum, seconds) = timed(turn);
    std::hint::black_box(sum);
    seconds
}
