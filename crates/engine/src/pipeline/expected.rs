//! How long jobs are taken to run, and how well that went.

use super::{Fit, Pipeline};
use crate::calibration::Calibration;
use crate::state::Job;
use crate::view::View;
use heeler_model::{JobId, Span, Time};

impl Pipeline {
    /// How long a job is taken to run from now on; for ever where there is no way to tell.
    pub(super) fn estimate(&self, job: &Job, view: &View) -> Span {
        let predict = self.parts.predict.as_ref();
        predict.and_then(|predict| predict.left(job, view)).unwrap_or(Span::MAX)
    }

    /// Note when a running job is taken to end.
    pub(super) fn expect_end(&mut self, id: JobId, view: &View) {
        let (Some(predict), Fit::Backfill { .. }) = (&self.parts.predict, self.parts.fit) else {
            return;
        };
        let Some(job) = view.jobs().get(id) else { return };
        let end = job.is_placed().then(|| match predict.left(job, view) {
            Some(left) => job.progress.from.max(view.now()) + left,
            None => Time::MAX,
        });
        self.ends.set(view.jobs(), id, end);
    }

    /// How well the predictors of the order and of the estimate have done.
    pub(super) fn how_well_expected(&self) -> Vec<Calibration> {
        let order = self.parts.order.calibration();
        let estimate = self.parts.predict.as_ref().and_then(|predict| predict.calibration());
        order.into_iter().chain(estimate).collect()
    }
}
