//! GPUs as NVML knows them. Its library is looked for when the program runs, so that one program
//! works on machines with and without it.

use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use std::collections::BTreeMap;

/// Words of a product's name that say nothing of its kind.
const NO_KIND: [&str; 8] =
    ["NVIDIA", "TESLA", "QUADRO", "GEFORCE", "GPU", "GRAPHICS", "GENERATION", "DEVICE"];

/// The machine's GPUs.
pub(crate) struct Gpus {
    nvml: Nvml,
    pub(crate) kind: String,
    pub(crate) count: u32,
    pub(crate) memory_mb: u32,
    /// Their numbers, by slot.
    pub(crate) devices: Vec<u32>,
    /// What the driver calls them, by slot.
    pub(crate) uuids: Vec<String>,
    pub(crate) notes: Vec<String>,
}

impl Gpus {
    /// Find them, or say why there are none.
    pub(crate) fn find() -> Result<Gpus, String> {
        let nvml = Nvml::init().map_err(|error| error.to_string())?;
        let count = nvml.device_count().map_err(|error| error.to_string())?;
        let mut by_kind: BTreeMap<(String, u32), Vec<u32>> = BTreeMap::new();
        for index in 0..count {
            let device = nvml.device_by_index(index).map_err(|error| error.to_string())?;
            let name = device.name().map_err(|error| error.to_string())?;
            let memory = device.memory_info().map_or(0, |memory| memory.total >> 20);
            by_kind.entry((kind(&name), memory as u32)).or_default().push(index);
        }
        // A node's GPUs are of one kind; a second, weaker one is mostly there for the screen.
        let most = by_kind.iter().max_by_key(|(key, devices)| (devices.len(), key.1));
        let ((kind, memory_mb), devices) = most.ok_or("NVML knows of none")?;
        let left_out = by_kind.iter().filter(|(key, _)| *key != &(kind.clone(), *memory_mb));
        let note = |((kind, _), devices): (&(String, u32), &Vec<u32>)| {
            format!("{} {kind} are left out: the GPUs of a node are of one kind", devices.len())
        };
        let notes = left_out.map(note).collect();
        let (kind, memory_mb) = (kind.clone(), *memory_mb);
        let devices: Vec<u32> = devices.iter().copied().take(64).collect();
        let uuid = |index: &u32| nvml.device_by_index(*index)?.uuid();
        let uuids = devices.iter().map(uuid).collect::<Result<_, _>>();
        let uuids = uuids.map_err(|error| error.to_string())?;
        let count = devices.len() as u32;
        Ok(Gpus { kind, memory_mb, count, devices, uuids, notes, nvml })
    }

    /// What each says of itself; what it does not say is left out.
    pub(crate) fn readings(&self) -> Vec<BTreeMap<String, f64>> {
        let read = |index: &u32| {
            let Ok(device) = self.nvml.device_by_index(*index) else { return BTreeMap::new() };
            let busy = device.utilization_rates().ok().map(|rates| f64::from(rates.gpu));
            let memory = device.memory_info().ok().map(|memory| (memory.used >> 20) as f64);
            let power = device.power_usage().ok().map(|power_mw| f64::from(power_mw) / 1000.0);
            let heat = device.temperature(TemperatureSensor::Gpu).ok().map(f64::from);
            let names = ["use-percent", "memory-used-mb", "power-w", "temperature-c"];
            let all = names.into_iter().zip([busy, memory, power, heat]);
            all.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
        };
        self.devices.iter().map(read).collect()
    }
}

/// A product's name as people ask for it: `NVIDIA A100-SXM4-80GB` is an `A100`.
fn kind(product: &str) -> String {
    let upper = product.to_ascii_uppercase();
    let words = upper.split([' ', '-', '_']).filter(|word| !NO_KIND.contains(word));
    let mut words = words.filter(|word| !word.is_empty());
    let first = words.next().unwrap_or("GPU");
    // `RTX 4090`, `GTX 1080 Ti`: the family alone is no kind.
    match first {
        "RTX" | "GTX" | "TITAN" => format!("{first}{}", words.next().unwrap_or_default()),
        _ => first.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::kind;

    #[test]
    fn products_are_known_by_their_kind() {
        for (product, expected) in [
            ("NVIDIA A100-SXM4-80GB", "A100"),
            ("NVIDIA H200", "H200"),
            ("NVIDIA H100 80GB HBM3", "H100"),
            ("Tesla V100-SXM2-32GB", "V100"),
            ("Tesla T4", "T4"),
            ("NVIDIA GeForce RTX 4090", "RTX4090"),
            ("NVIDIA L40S", "L40S"),
            ("", "GPU"),
        ] {
            assert_eq!(kind(product), expected);
        }
    }
}
