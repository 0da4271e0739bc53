//! How much work a job is, and how many will come. A predictor that knows the truth is a predictor
//! like any other, and every one of them is judged by what is then seen.

mod blend;
mod convergence;
mod declared;
mod judged;
mod learned;
mod load;
mod losses;
mod mean;
mod names;
mod noisy;
mod oracle;
mod past;
mod tally;
mod trees;

pub use blend::Blend;
pub use convergence::Convergence;
pub use declared::Declared;
pub use judged::Judged;
pub use learned::{Facts, Learned, Learner, Owner};
pub use load::LoadForecast;
pub use losses::Losses;
pub use mean::{By, Mean};
pub use names::{Names, similarity};
pub use noisy::{Error, Noisy};
pub use oracle::Oracle;
pub use tally::Tally;
pub use trees::Trees;

use heeler_engine::{Note, Predict, View};
use heeler_model::{JobId, Report};

/// Let a predictor learn. Says of whom it has changed its mind: what most say of a job stands, but
/// a curve through losses bends with every report.
pub(crate) fn learn(predict: &mut dyn Predict, note: &Note, view: &View) -> Option<JobId> {
    let Note::Reported { job: id, report: Report::Loss { .. } | Report::Score { .. } } = note
    else {
        predict.observe(note, view);
        return None;
    };
    let job = view.jobs().get(*id)?;
    let before = predict.work(job, view);
    predict.observe(note, view);
    (predict.work(job, view) != before).then_some(*id)
}
