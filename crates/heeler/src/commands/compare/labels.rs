//! What recipes are called that stand side by side. A card of one's own may have the name of a
//! recipe that it was made from; then it is called by its file, too.

use crate::arguments::{Choice, choose};
use crate::mistake::Mistake;
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::Path;

/// The recipes that some texts name, each under a name of its own unless two are the same.
pub(crate) fn choose_all(texts: &[String]) -> Result<Vec<Choice>> {
    let mut choices: Vec<Choice> = texts.iter().map(|text| choose(text)).collect::<Result<_>>()?;
    let files: Vec<Option<File>> =
        texts.iter().zip(&choices).map(|(text, choice)| File::of(text, choice)).collect();
    for (choice, file) in choices.iter_mut().zip(&files) {
        if let Some(own) = file {
            choice.label = own.label(files.iter().flatten());
        }
    }
    Ok(choices)
}

/// The same, for a table or a page in which each has a place of its own.
pub(crate) fn choose_each(texts: &[String]) -> Result<Vec<Choice>> {
    let choices = choose_all(texts)?;
    let mut labels = BTreeSet::new();
    if let Some(twice) = choices.iter().find(|choice| !labels.insert(&choice.label)) {
        let mistake = Mistake::new(format!("recipe `{}` is named twice", twice.label));
        return Err(mistake.hint("name each recipe once, or give it other knobs").into());
    }
    Ok(choices)
}

/// A card that was read from a file.
#[derive(Debug)]
struct File {
    path: String,
    /// What the card calls itself.
    name: String,
    /// The knobs behind the path.
    knobs: String,
}

impl File {
    /// The file that a text names; none if it names a recipe that is built in.
    fn of(text: &str, choice: &Choice) -> Option<File> {
        // Of a card from a file the label has the card's name in place of the path.
        let knobs = choice.label.strip_prefix(&choice.card.name)?;
        let path = text.strip_suffix(knobs).filter(|path| *path != choice.card.name)?;
        let [path, name, knobs] = [path, &choice.card.name, knobs].map(ToString::to_string);
        Some(File { path, name, knobs })
    }

    fn file_name(&self) -> Option<&str> {
        Path::new(&self.path).file_name()?.to_str()
    }

    /// What it is called among others: by its name, unless that is taken.
    fn label<'a>(&self, all: impl Iterator<Item = &'a File>) -> String {
        let others: Vec<&File> =
            all.filter(|other| other.name == self.name && other.path != self.path).collect();
        if others.is_empty() && heeler_recipes::find(&self.name).is_none() {
            return format!("{}{}", self.name, self.knobs);
        }
        let same_file = others.iter().any(|other| other.file_name() == self.file_name());
        let shown = self.file_name().filter(|_| !same_file).unwrap_or(&self.path);
        format!("{} ({shown}){}", self.name, self.knobs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(names: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, name): &(&str, &str)| File {
            path: path.to_string(),
            name: name.to_string(),
            knobs: ":x=1".into(),
        };
        let files: Vec<File> = names.iter().map(file).collect();
        files.iter().map(|file| file.label(files.iter())).collect()
    }

    #[test]
    fn cards_are_called_by_their_files_where_their_names_are_taken() {
        assert_eq!(labels(&[("a.toml", "mine")]), ["mine:x=1"]);
        assert_eq!(labels(&[("a.toml", "fifo")]), ["fifo (a.toml):x=1"]);
        let two = [("x/a.toml", "mine"), ("x/b.toml", "mine")];
        assert_eq!(labels(&two), ["mine (a.toml):x=1", "mine (b.toml):x=1"]);
        let two = [("x/a.toml", "mine"), ("y/a.toml", "mine")];
        assert_eq!(labels(&two), ["mine (x/a.toml):x=1", "mine (y/a.toml):x=1"]);
        let same = [("a.toml", "mine"), ("a.toml", "mine")];
        assert_eq!(labels(&same), ["mine:x=1", "mine:x=1"], "one card twice is a mistake");
    }
}
