//! The options of a job on the command line, made from the same table that scripts are read by.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use heeler_api::read::{FLAGS, Given, Origin, Takes};

/// The options of a job that were given.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobArguments {
    pub(crate) given: Vec<Given>,
}

impl Args for JobArguments {
    fn augment_args(mut command: Command) -> Command {
        for flag in FLAGS {
            let mut arg = Arg::new(flag.long)
                .long(flag.long)
                .aliases(flag.also)
                .help(flag.help)
                .help_heading(flag.section)
                .overrides_with(flag.long);
            if let Some(letter) = flag.short {
                arg = arg.short(letter);
            }
            arg = match flag.takes {
                Takes::Nothing => arg.action(ArgAction::SetTrue),
                Takes::Value(name) => {
                    let negative = flag.long == "priority";
                    arg.value_name(name).allow_negative_numbers(negative)
                }
            };
            command = command.arg(arg);
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        JobArguments::augment_args(command)
    }
}

impl FromArgMatches for JobArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<JobArguments, clap::Error> {
        let mut arguments = JobArguments::default();
        arguments.update_from_arg_matches(matches)?;
        Ok(arguments)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for flag in FLAGS {
            let value = match flag.takes {
                Takes::Nothing if matches.get_flag(flag.long) => None,
                Takes::Nothing => continue,
                Takes::Value(_) => match matches.get_one::<String>(flag.long) {
                    Some(value) => Some(value.clone()),
                    None => continue,
                },
            };
            self.given.push(Given { flag, value, origin: Origin::Typed });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        job: JobArguments,
    }

    fn given(line: &str) -> Vec<(&'static str, Option<String>)> {
        let words = std::iter::once("x").chain(line.split_whitespace());
        let line = Line::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
        line.job.given.into_iter().map(|given| (given.flag.long, given.value)).collect()
    }

    #[test]
    fn options_are_those_of_slurm() {
        let some = |text: &str| Some(text.to_string());
        for (line, long, value) in [
            ("-J x", "job-name", "x"),
            ("-Jx", "job-name", "x"),
            ("--gpus=a100:4", "gpus", "a100:4"),
            ("-G 4", "gpus", "4"),
            ("-N2", "nodes", "2"),
            ("-t 1:00", "time", "1:00"),
            ("-a 1-10%2", "array", "1-10%2"),
            ("-d afterok:1", "dependency", "afterok:1"),
            ("--priority -5", "priority", "-5"),
            ("--priority=-5", "priority", "-5"),
            ("--tenant lab", "account", "lab"),
            ("-t 5 -t 6", "time", "6"),
        ] {
            assert_eq!(given(line), [(long, some(value))], "{line}");
        }
        assert_eq!(given("-H --requeue"), [("hold", None), ("requeue", None)]);
        assert_eq!(given(""), []);
    }
}
