//! Whether a submission makes sense here, and the same with defaults filled in.

use super::{
    PACE_MAX, PRIORITY_MAX, REGIMES_MAX, SECONDS_MAX, invalid, is_name, signal_number, with_nearest,
};
use crate::job::weight;
use crate::live::Live;
use heeler_api::{Array, Code, Gpus, Pause, Problem, Submission, Who};
use heeler_model::{SECOND_US, Time};

/// Jobs of one ask.
const BATCH_MAX: usize = 10_000;
/// Jobs that are not over, tasks of arrays counted one by one.
const JOBS_MAX: usize = 100_000;
/// Bytes of the words, variables and script of one job.
const BYTES_MAX: usize = 256 << 10;
/// Bytes of all jobs that are not over.
const ALL_BYTES_MAX: usize = 512 << 20;
/// Jobs that one job can wait for.
const AFTER_MAX: usize = 1_000;
/// Seconds between being asked to stop and being killed, if nobody says.
const GRACE_S: u64 = 30;
/// Seconds before the first retry, if nobody says.
const BACKOFF_S: u64 = 10;
/// Letters of a path.
const PATH_MAX: usize = 4_096;

impl Live {
    pub(super) fn check_submissions(
        &self,
        who: &Who,
        submissions: Vec<Submission>,
        at: Time,
    ) -> Result<Vec<Submission>, Problem> {
        if submissions.is_empty() || submissions.len() > BATCH_MAX {
            let message = format!("between one and {BATCH_MAX} jobs can be handed in at a time");
            return Err(Problem::new(Code::TooLarge, message));
        }
        let mut tasks = self.jobs.live_len();
        let mut bytes = self.jobs.live_bytes;
        let several = submissions.len() > 1;
        let mut checked = Vec::with_capacity(submissions.len());
        for (index, submission) in submissions.into_iter().enumerate() {
            let result = self.check_submission(who, submission, at);
            let submission = result.map_err(|mut problem| {
                if several {
                    problem.message = format!("job {index} of those: {}", problem.message);
                }
                problem
            })?;
            tasks += submission.array.as_ref().map_or(1, |array| array.indices.len());
            bytes += weight(&submission);
            checked.push(submission);
        }
        if tasks > JOBS_MAX || bytes > ALL_BYTES_MAX {
            let message = format!("there would be more than {JOBS_MAX} jobs that are not over");
            let problem = Problem::new(Code::Busy, message);
            return Err(problem.hint("wait until some of them have ended"));
        }
        if !self.jobs.has_numbers(tasks as u32) {
            return Err(Problem::new(Code::Conflict, "there are no job numbers left"));
        }
        Ok(checked)
    }

    /// One submission with its defaults filled in.
    pub fn check_submission(
        &self,
        who: &Who,
        mut submission: Submission,
        at: Time,
    ) -> Result<Submission, Problem> {
        name_it(&mut submission)?;
        self.check_whose(who, &mut submission)?;
        check_words(&submission)?;
        self.check_gpus(&mut submission.gpus)?;
        check_nodes(&submission)?;
        if let Some(array) = &submission.array {
            check_array(array)?;
        }
        self.check_pause(&submission)?;
        self.check_times(&mut submission, at)?;
        self.check_after(who, &submission)?;
        Ok(submission)
    }

    fn check_whose(&self, who: &Who, submission: &mut Submission) -> Result<(), Problem> {
        let named = submission.tenant.clone();
        let name = named.clone().unwrap_or_else(|| self.home(who));
        let tenant = self.tenant_named(&name, "tenant")?;
        if !self.people.may_see(who, tenant) {
            let message = format!("there is no tenant `{name}`");
            let problem = Problem::new(Code::NotFound, message).at("tenant");
            let names = who.tenants.iter().map(String::as_str);
            return Err(with_nearest(problem, &name, names));
        }
        submission.tenant = Some(name);
        Ok(())
    }

    fn check_gpus(&self, gpus: &mut Gpus) -> Result<(), Problem> {
        let kinds = &self.inventory.cluster.kinds;
        for name in &mut gpus.kinds {
            let found = kinds.iter().find(|kind| kind.name.eq_ignore_ascii_case(name));
            let Some(found) = found else {
                let message = format!("there are no GPUs of kind `{name}`");
                let problem = Problem::new(Code::Invalid, message).at("gpus.kinds");
                let names = kinds.iter().map(|kind| kind.name.as_str());
                return Err(with_nearest(problem, name, names));
            };
            name.clone_from(&found.name);
        }
        gpus.kinds.sort_unstable();
        gpus.kinds.dedup();
        let all = self.inventory.cluster.gpus();
        if gpus.count > 1_000_000 {
            let problem = invalid("gpus.count", format!("there are {all} GPUs"));
            return Err(problem.hint(format!("ask for {all} or fewer")));
        }
        let (min, max) = (gpus.min.unwrap_or(gpus.count), gpus.max.unwrap_or(gpus.count));
        if min > gpus.count || max < gpus.count || max > 1_000_000 {
            let message = format!("{min} to {max} GPUs do not go with {}", gpus.count);
            return Err(invalid("gpus.min", message).hint("min <= count <= max"));
        }
        if (min == 0) != (gpus.count == 0) {
            return Err(invalid("gpus.min", "a job that uses GPUs needs at least one"));
        }
        if gpus.share.is_some_and(|share| share == 0 || share > 1000) {
            return Err(invalid("gpus.share", "a share lies between 1 and 1000 thousandths"));
        }
        Ok(())
    }

    fn check_pause(&self, submission: &Submission) -> Result<(), Problem> {
        if submission.pause == Pause::Checkpoint && !self.inventory.checkpoints {
            let message = "the driver cannot move jobs off GPUs here";
            return Err(invalid("pause", message).hint("use auto, save, freeze or requeue"));
        }
        if submission.terminal && submission.array.is_some() {
            return Err(invalid("terminal", "the tasks of an array cannot share a terminal"));
        }
        Ok(())
    }

    fn check_times(&self, submission: &mut Submission, at: Time) -> Result<(), Problem> {
        let limits = [
            ("time-limit-s", submission.time_limit_s),
            ("expected-s", submission.expected_s),
            ("grace-s", Some(submission.grace_s.max(1))),
            ("backoff-s", Some(submission.backoff_s.max(1))),
        ];
        for (field, seconds) in limits {
            if seconds.is_some_and(|seconds| seconds == 0 || seconds > SECONDS_MAX) {
                return Err(invalid(field, "a time lies between a second and ten years"));
            }
        }
        check_regimes(submission)?;
        check_appetite(submission)?;
        if submission.retries > 1_000 {
            return Err(invalid("retries", "at most 1000 retries"));
        }
        if submission.priority.unsigned_abs() > PRIORITY_MAX.unsigned_abs() {
            return Err(invalid("priority", format!("a priority is at most {PRIORITY_MAX}")));
        }
        if let Some(early) = &submission.early {
            if signal_number(&early.signal).is_none() {
                let message = format!("there is no signal `{}`", early.signal);
                return Err(invalid("early.signal", message).hint("such as TERM or USR1"));
            }
            if early.before_s > SECONDS_MAX {
                return Err(invalid("early.before-s", "that is more than ten years"));
            }
        }
        let now = self.epoch + at.micros() / SECOND_US;
        for (field, when) in [("begin", submission.begin), ("deadline", submission.deadline)] {
            if when.is_some_and(|when| when > now.saturating_add(SECONDS_MAX)) {
                return Err(invalid(field, "that is more than ten years from now"));
            }
        }
        if submission.deadline.is_some_and(|deadline| deadline <= now) {
            return Err(invalid("deadline", "that is past already"));
        }
        if submission.grace_s == 0 {
            submission.grace_s = GRACE_S;
        }
        if submission.retries > 0 && submission.backoff_s == 0 {
            submission.backoff_s = BACKOFF_S;
        }
        Ok(())
    }

    fn check_after(&self, who: &Who, submission: &Submission) -> Result<(), Problem> {
        if submission.after.len() > AFTER_MAX {
            return Err(invalid("after", format!("a job waits for at most {AFTER_MAX} others")));
        }
        for dependency in &submission.after {
            let known = self.jobs.get(dependency.job).is_some_and(|job| self.may_see(who, job));
            if !known {
                let message = format!("there is no job {}", dependency.job);
                return Err(Problem::new(Code::NotFound, message).at("after"));
            }
        }
        Ok(())
    }
}

/// A job without a name is called like its program.
fn check_regimes(submission: &Submission) -> Result<(), Problem> {
    let Some(regimes) = &submission.regimes else { return Ok(()) };
    if regimes.epochs == 0 || !(1..=REGIMES_MAX).contains(&regimes.epoch_s.len()) {
        let message = format!("a job has an epoch or more, and up to {REGIMES_MAX} regimes");
        return Err(invalid("regimes", message));
    }
    let sound = |seconds: &f64| *seconds > 0.0 && *seconds <= SECONDS_MAX as f64;
    if !regimes.epoch_s.iter().all(sound) {
        let message = "an epoch takes more than nothing, and less than ten years";
        return Err(invalid("regimes.epoch-s", message));
    }
    Ok(())
}

fn check_appetite(submission: &Submission) -> Result<(), Problem> {
    if submission.appetite.len() > REGIMES_MAX {
        let message = format!("what CPUs do for a job is said of at most {REGIMES_MAX} amounts");
        return Err(invalid("appetite", message));
    }
    let sound = |pace: f64| pace > 0.0 && pace <= PACE_MAX;
    if !submission.appetite.iter().all(|fed| sound(fed.pace)) {
        let message = format!("a job is more than 0 and at most {PACE_MAX} times as fast");
        return Err(invalid("appetite.pace", message));
    }
    Ok(())
}

fn name_it(submission: &mut Submission) -> Result<(), Problem> {
    if submission.name.is_empty() {
        let program = submission.command.first().filter(|_| submission.script.is_none());
        let program = program.map_or("job", |program| program.rsplit('/').next().unwrap_or("job"));
        let name = if is_name(program, 128) { program } else { "job" };
        submission.name = name.into();
    }
    if !is_name(&submission.name, 128) {
        let message = "a name has up to 128 letters, digits and -_.+:@ and begins with neither \
                       a dot nor a dash";
        return Err(invalid("name", message));
    }
    Ok(())
}

fn check_words(submission: &Submission) -> Result<(), Problem> {
    let Submission { command, script, dir, env, output, error, model, once, .. } = submission;
    if command.is_empty() && script.is_none() {
        return Err(invalid("command", "there is nothing to run").hint("give a command or script"));
    }
    if script.is_none() && command.first().is_some_and(String::is_empty) {
        return Err(invalid("command", "the program has no name"));
    }
    if weight(submission) > BYTES_MAX {
        let message = format!("words, variables and script have more than {BYTES_MAX} bytes");
        return Err(Problem::new(Code::TooLarge, message).at("command"));
    }
    let path = |text: &String| text.len() <= PATH_MAX && !text.contains('\0');
    if !path(dir) || !(dir.is_empty() || dir.starts_with('/')) {
        return Err(invalid("dir", "a folder is a path from the root"));
    }
    for (field, file) in [("output", output), ("error", error)] {
        if file.as_ref().is_some_and(|file| !path(file) || file.is_empty()) {
            return Err(invalid(field, "output goes to a path of at most 4096 letters"));
        }
    }
    if command.iter().any(|word| word.contains('\0')) {
        return Err(invalid("command", "words cannot have a zero byte"));
    }
    if script.as_ref().is_some_and(|script| script.contains('\0')) {
        return Err(invalid("script", "a script cannot have a zero byte"));
    }
    for (key, value) in env {
        let odd = key.is_empty() || key.contains(['=', '\0']) || value.contains('\0');
        if odd {
            let message = format!("`{}` cannot be a variable", key.escape_default());
            return Err(invalid("env", message));
        }
    }
    if model.as_ref().is_some_and(|model| !is_name(model, 128)) {
        return Err(invalid("model", "a model's name has up to 128 letters, digits and -_.+:@"));
    }
    if once.as_ref().is_some_and(|once| once.is_empty() || once.len() > 128) {
        return Err(invalid("once", "a key has between one and 128 bytes"));
    }
    Ok(())
}

fn check_nodes(submission: &Submission) -> Result<(), Problem> {
    let Some(nodes) = submission.nodes else { return Ok(()) };
    let count = submission.gpus.count;
    if nodes == 0 || (nodes > 1 && (count == 0 || !count.is_multiple_of(nodes))) {
        let message = format!("{count} GPUs cannot be spread evenly over {nodes} nodes");
        return Err(invalid("nodes", message).hint("make the number of GPUs a multiple of it"));
    }
    Ok(())
}

fn check_array(array: &Array) -> Result<(), Problem> {
    let indices = &array.indices;
    if indices.is_empty() || indices.len() > JOBS_MAX {
        let message = format!("an array has between one and {JOBS_MAX} tasks");
        return Err(Problem::new(Code::TooLarge, message).at("array.indices"));
    }
    if indices.windows(2).any(|pair| pair[0] >= pair[1]) {
        let message = "the numbers of tasks are in order, each once";
        return Err(invalid("array.indices", message));
    }
    if array.most == Some(0) {
        return Err(invalid("array.most", "at least one task must be able to run"));
    }
    Ok(())
}
