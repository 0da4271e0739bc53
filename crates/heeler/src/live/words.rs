//! Jobs, moments and amounts as people read them.

use heeler_api::{JobState, JobView};
use jiff::{Timestamp, tz::TimeZone};

/// What a job is called: `17`, or `17_3` for a task of an array.
pub(crate) fn label(job: &JobView) -> String {
    match job.array {
        Some((array, task)) => format!("{array}_{task}"),
        None => job.id.to_string(),
    }
}

/// Seconds as a clock shows them: `0:05`, `1:02:03`, `2-03:04:05`.
pub(crate) fn clock(seconds: f64) -> String {
    let all = seconds.max(0.0) as u64;
    let (days, hours, minutes, seconds) = (all / 86_400, all / 3_600 % 24, all / 60 % 60, all % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes}:{seconds:02}"),
        (0, _) => format!("{hours}:{minutes:02}:{seconds:02}"),
        _ => format!("{days}-{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> f64 {
    Timestamp::now().as_millisecond() as f64 / 1000.0
}

/// A moment in the time of this place: `15:04:05` if it is today, else with its date.
pub(crate) fn moment(at: f64) -> String {
    let Ok(stamp) = Timestamp::from_millisecond((at * 1000.0) as i64) else { return "?".into() };
    let zone = TimeZone::system();
    let there = stamp.to_zoned(zone.clone());
    let form = match there.date() == Timestamp::now().to_zoned(zone).date() {
        true => "%H:%M:%S",
        false => "%Y-%m-%d %H:%M:%S",
    };
    there.strftime(form).to_string()
}

/// The state of a job as one word.
pub(crate) fn state(state: JobState) -> &'static str {
    state.word()
}

/// The states that a text such as `PD,R` or `pending,running` names.
pub(crate) fn states(text: &str) -> Result<Vec<JobState>, String> {
    let one = |word: &str| -> Result<Vec<JobState>, String> {
        Ok(match word.trim().to_ascii_lowercase().as_str() {
            "pd" | "pending" => vec![JobState::Pending, JobState::Held],
            "h" | "held" => vec![JobState::Held],
            "cf" | "starting" => vec![JobState::Starting],
            "r" | "running" => vec![JobState::Running, JobState::Starting],
            "cg" | "stopping" | "completing" => vec![JobState::Stopping],
            "s" | "suspended" => vec![JobState::Suspended],
            "cd" | "completed" => vec![JobState::Completed],
            "f" | "failed" => vec![JobState::Failed],
            "ca" | "cancelled" => vec![JobState::Cancelled],
            "to" | "timeout" => vec![JobState::Timeout],
            "stopped" => vec![JobState::Stopped],
            _ => {
                return Err(format!(
                    "expected pending, held, running, suspended, completed, failed, cancelled or \
                     timeout, found `{word}`"
                ));
            }
        })
    };
    let all: Vec<Vec<JobState>> = text.split(',').map(one).collect::<Result<_, _>>()?;
    Ok(all.concat())
}

/// GPU-seconds as GPU-hours.
pub(crate) fn gpu_hours(gpu_s: f64) -> String {
    let hours = gpu_s / 3_600.0;
    // Shorter than a second of one GPU is nothing to people.
    if gpu_s < 1.0 { "0".into() } else { crate::show::decimal(hours) }
}

/// Thousandths of GPUs as GPUs.
pub(crate) fn gpus(milli: u64) -> String {
    match milli % 1000 {
        0 => (milli / 1000).to_string(),
        _ => format!("{:.2}", milli as f64 / 1000.0),
    }
}

/// The code that a command ends with if it stands for a job.
pub(crate) fn exit_code(job: &JobView) -> u8 {
    let code = match (job.exit_code, job.exit_signal) {
        (_, Some(signal)) => 128 + signal,
        (Some(code), None) => code,
        (None, None) => 0,
    };
    match (job.state, u8::try_from(code).unwrap_or(1)) {
        (JobState::Completed | JobState::Stopped, code) => code,
        // What did not end well is no success, whatever its processes said.
        (_, 0) => 1,
        (_, code) => code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_clocks() {
        for (seconds, text) in
            [(5.4, "0:05"), (65.0, "1:05"), (3_723.0, "1:02:03"), (183_845.0, "2-03:04:05")]
        {
            assert_eq!(clock(seconds), text);
        }
        assert_eq!(gpus(1500), "1.50");
        assert_eq!(gpus(8000), "8");
    }

    #[test]
    fn states_are_named_as_slurm_does() {
        assert_eq!(states("R"), Ok(vec![JobState::Running, JobState::Starting]));
        assert_eq!(states("failed,CA"), Ok(vec![JobState::Failed, JobState::Cancelled]));
        assert!(states("odd").is_err());
    }

    #[test]
    fn exit_codes_are_those_of_jobs() {
        let job = |state, exit_code, exit_signal| JobView {
            state,
            exit_code,
            exit_signal,
            ..JobView::default()
        };
        assert_eq!(exit_code(&job(JobState::Completed, Some(0), None)), 0);
        assert_eq!(exit_code(&job(JobState::Failed, Some(3), None)), 3);
        assert_eq!(exit_code(&job(JobState::Failed, None, Some(9))), 137);
        assert_eq!(exit_code(&job(JobState::Cancelled, None, None)), 1);
        assert_eq!(exit_code(&job(JobState::Timeout, Some(0), None)), 1);
    }
}
