//! Jobs by how people name them, among those they may see.

use crate::live::Live;
use heeler_api::{Code, Problem, Selection, Selector, Who};

/// Jobs that one selection can name.
const SELECTED_MAX: usize = 200_000;

impl Live {
    /// The numbers that a selection names, in order. What cannot be seen is not there; a job or
    /// tasks that are named and not there are a problem.
    pub fn select(&self, who: &Who, selection: &Selection) -> Result<Vec<u32>, Problem> {
        let mut numbers = Vec::new();
        for selector in &selection.0 {
            let found = self.select_one(who, selector)?;
            numbers.extend(found);
            if numbers.len() > SELECTED_MAX {
                let message = format!("that names more than {SELECTED_MAX} jobs");
                return Err(Problem::new(Code::TooLarge, message));
            }
        }
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() {
            return Err(Problem::new(Code::NotFound, "there are no such jobs"));
        }
        Ok(numbers)
    }

    fn select_one(&self, who: &Who, selector: &Selector) -> Result<Vec<u32>, Problem> {
        let missing =
            |name: String| Problem::new(Code::NotFound, format!("there is no job {name}"));
        match selector {
            Selector::Job(job) => {
                let found = self.array_of(who, *job);
                if found.is_empty() { Err(missing(job.to_string())) } else { Ok(found) }
            }
            Selector::Tasks { array, tasks } => {
                let all = self.array_of(who, *array);
                let among = |job: &u32| {
                    let task = self.jobs.get(*job).and_then(|job| job.task);
                    task.is_some_and(|task| {
                        tasks.iter().any(|(first, last)| (*first..=*last).contains(&task))
                    })
                };
                let found: Vec<u32> = all.into_iter().filter(among).collect();
                if found.is_empty() {
                    let (first, _) = tasks.first().copied().unwrap_or_default();
                    return Err(missing(format!("{array}_{first}")));
                }
                Ok(found)
            }
            Selector::Range(first, last) if first <= last => {
                let jobs = self.jobs.range(*first, *last).into_iter();
                Ok(jobs.filter(|job| self.may_see(who, job)).map(|job| job.id).collect())
            }
            Selector::Range(..) => Ok(Vec::new()),
            Selector::Last => match self.jobs.latest_of(&who.user) {
                Some(latest) => Ok(self.array_of(who, latest)),
                None => {
                    let problem = Problem::new(Code::NotFound, "you have handed in no job yet");
                    Err(problem)
                }
            },
            Selector::All => Ok(self.jobs.of_user(&who.user).collect()),
        }
    }

    /// A job with all its tasks, if it is the first of an array; nothing, if it cannot be seen.
    fn array_of(&self, who: &Who, job: u32) -> Vec<u32> {
        let Some(found) = self.jobs.get(job).filter(|job| self.may_see(who, job)) else {
            return Vec::new();
        };
        let Some(array) = found.submission.array.as_ref().filter(|_| found.head == job) else {
            return vec![job];
        };
        let last = job.saturating_add(array.indices.len() as u32 - 1);
        self.jobs.range(job, last).into_iter().map(|job| job.id).collect()
    }
}
