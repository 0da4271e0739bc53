//! How jobs are generated, and whether anybody asked how many: a trace has its own number.

use crate::arguments::generate::GenerateArguments;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

#[derive(Clone, Debug)]
pub(super) struct Generated {
    pub(super) asked: GenerateArguments,
    /// How many jobs, if that was said and is not what is usual.
    pub(super) jobs_given: Option<usize>,
}

impl FromArgMatches for Generated {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Generated, Error> {
        let asked = GenerateArguments::from_arg_matches(matches)?;
        let given = matches.value_source("jobs") == Some(ValueSource::CommandLine);
        let jobs_given = given.then_some(asked.jobs);
        Ok(Generated { asked, jobs_given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Generated::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Generated {
    fn augment_args(command: Command) -> Command {
        GenerateArguments::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        GenerateArguments::augment_args_for_update(command)
    }
}
