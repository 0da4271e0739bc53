//! Floating-point state is stored by its bits: as decimal digits it might come back slightly
//! changed, and a cell that was stored would go another way than one that was not.

use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(value.to_bits())
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    u64::deserialize(from).map(f64::from_bits)
}
