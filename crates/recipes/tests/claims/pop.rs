//! POP: shares found in groups.

use super::scene::{Row, Scene, job};

/// Jobs of three kinds, more of them than GPUs.
fn many() -> Vec<Row> {
    let each = |index: u64| {
        let fast = [4.0, 1.2, 2.0][index as usize % 3];
        let units = 3600.0 * (1 + index % 5) as f64;
        job(&format!("job{index}"), index * 60, 1, 1).units(units, &[fast, 1.0])
    };
    (0..120).map(each).collect()
}

#[test]
fn pop_loses_little_on_average() {
    let scene = Scene::new("v100=12,k80=12", many());
    let (whole, parts) = (scene.run("gavel", &[]), scene.run("pop", &[]));
    let loss = parts.mean_s() / whole.mean_s();
    assert!(loss < 1.05, "{loss}");
}

#[test]
fn pop_in_one_group_is_gavel() {
    let scene = Scene::new("v100=4,k80=4", many().into_iter().take(30));
    assert_eq!(scene.run("pop", &[("parts", "1")]).ends(), scene.run("gavel", &[]).ends());
    assert_ne!(scene.run("pop", &[("parts", "3")]).ends(), scene.run("gavel", &[]).ends());
}
