//! A bar on the error stream while something takes long. Nothing is drawn where no one looks.

use indicatif::{ProgressBar, ProgressStyle};
use std::time::Duration;

/// A bar that fills up.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar of so many steps.
    pub(crate) fn new(what: &str, steps: u64, unit: &str) -> Progress {
        let bar = ProgressBar::new(steps);
        let form = format!("{{msg}} {{bar:32}} {{human_pos}}/{{human_len}} {unit}, {{eta}} left");
        bar.set_style(ProgressStyle::with_template(&form).expect("the form is sound"));
        bar.set_message(what.to_string());
        bar.enable_steady_tick(Duration::from_millis(200));
        Progress { bar }
    }

    /// So many steps are done.
    pub(crate) fn at(&self, steps: u64) {
        self.bar.set_position(steps);
    }

    /// One more step is done.
    pub(crate) fn step(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
