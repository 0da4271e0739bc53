//! A digest of decisions, chained: two runs that decided alike have the same, and one that took
//! another way never comes back to it. Written out here because it stands in journals.

use heeler_backend::Order;
use heeler_model::Time;
use std::io::Write;

/// The digest before the first decision.
pub(crate) const START: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// Feeds bytes to a chained FNV-1a digest.
struct Chain(u64);

impl Write for Chain {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The digest after one more decision. One without orders leaves it as it is.
pub(crate) fn extend(before: u64, at: Time, orders: &[Order]) -> u64 {
    if orders.is_empty() {
        return before;
    }
    let mut chain = Chain(before);
    for byte in at.micros().to_le_bytes() {
        chain.0 = (chain.0 ^ u64::from(byte)).wrapping_mul(PRIME);
    }
    serde_json::to_writer(&mut chain, orders).expect("orders are plain data with string keys");
    chain.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use heeler_model::JobId;

    #[test]
    fn what_was_ordered_and_when_makes_the_digest() {
        let forget = |job| [Order::Forget { job: JobId(job) }];
        let at = Time::from_secs(1);
        assert_eq!(extend(START, at, &[]), START);
        let one = extend(START, at, &forget(1));
        assert_eq!(one, extend(START, at, &forget(1)));
        assert_ne!(one, extend(START, at, &forget(2)));
        assert_ne!(one, extend(START, Time::from_secs(2), &forget(1)));
        assert_ne!(extend(one, at, &forget(1)), one);
    }
}
