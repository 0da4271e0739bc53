//! What traces call their jobs: one text and where each name ends in it, because there may be
//! millions and a text of its own for each would take more room than all else that is kept of it.

use heeler_model::JobId;

/// Names by job number.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobNames {
    text: String,
    /// Where the name of each job ends in the text; the next begins there. Jobs without a name
    /// have an empty one, and those after the last that has one are not in the list.
    ends: Vec<usize>,
}

impl JobNames {
    /// Name a job. Jobs are named in the order of their numbers.
    pub(crate) fn push(&mut self, job: JobId, name: &str) {
        debug_assert!(self.ends.len() <= job.index(), "a job is named once");
        self.ends.resize(job.index(), self.text.len());
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    /// What a job is called, if it has a name.
    pub(crate) fn get(&self, job: JobId) -> Option<&str> {
        let end = *self.ends.get(job.index())?;
        let start = job.index().checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.text[start..end]).filter(|name| !name.is_empty())
    }

    /// The first job that is called so.
    pub(crate) fn find(&self, name: &str) -> Option<JobId> {
        let mut jobs = (0..self.ends.len() as u32).map(JobId);
        jobs.find(|job| self.get(*job) == Some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_told_apart() {
        let mut names = JobNames::default();
        names.push(JobId(1), "b");
        names.push(JobId(2), "bc");
        names.push(JobId(5), "b");
        let told: Vec<_> = (0..7).map(|job| names.get(JobId(job))).collect();
        assert_eq!(told, [None, Some("b"), Some("bc"), None, None, Some("b"), None]);
        assert_eq!(names.find("b"), Some(JobId(1)));
        assert_eq!(names.find("bc"), Some(JobId(2)));
        assert_eq!(names.find("bb"), None);
        assert_eq!(names.find(""), None);
    }
}
