//! Finds the commands in Markdown: fenced blocks tagged `console`, or `console,ignore: reason` for
//! those that cannot be run everywhere.

/// A block of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The line of its fence, counted from one.
    pub line: usize,
    /// Why it is not run, if it is not.
    pub ignored: Option<String>,
    /// What it shows.
    pub commands: Vec<Shown>,
}

/// A command and what it should do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its line, counted from one.
    pub line: usize,
    /// For the shell.
    pub command: String,
    /// With which code it ends.
    pub exits: i32,
    /// What it prints, in part.
    pub output: Vec<String>,
}

/// A block that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slip {
    /// Line, counted from one.
    pub line: usize,
    /// What should be there.
    pub expected: &'static str,
    /// What is there.
    pub got: String,
}

/// All blocks of commands in a text, and what is wrong with those that cannot be read.
pub fn read(text: &str) -> (Vec<Block>, Vec<Slip>) {
    let (mut blocks, mut slips) = (Vec::new(), Vec::new());
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let Some(fence) = Fence::open(line) else { continue };
        let mut inside = Vec::new();
        let closed = loop {
            match lines.next() {
                Some((_, line)) if fence.closes(line) => break true,
                Some((at, line)) => inside.push((at + 1, fence.unindent(line))),
                None => break false,
            }
        };
        match fence.block(at + 1, &inside) {
            Ok(Some(_)) if !closed => {
                let got = "the end of the file".into();
                slips.push(Slip { line: at + 1, expected: "a fence that closes the block", got });
            }
            Ok(block) => blocks.extend(block),
            Err(slip) => slips.push(slip),
        }
    }
    (blocks, slips)
}

/// The line that opens a block.
struct Fence<'a> {
    indent: usize,
    ticks: usize,
    tag: &'a str,
}

impl<'a> Fence<'a> {
    fn open(line: &'a str) -> Option<Fence<'a>> {
        let inner = line.trim_start();
        let tag = inner.trim_start_matches('`');
        let ticks = inner.len() - tag.len();
        let opens = ticks >= 3 && !tag.contains('`');
        opens.then(|| Fence { indent: line.len() - inner.len(), ticks, tag: tag.trim() })
    }

    fn closes(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.ticks && line.chars().all(|tick| tick == '`')
    }

    /// A block inside a list is indented as a whole; that is not part of it.
    fn unindent<'b>(&self, line: &'b str) -> &'b str {
        let spaces = line.len() - line.trim_start_matches(' ').len();
        &line[spaces.min(self.indent)..]
    }

    /// The block, if it holds commands.
    fn block(&self, line: usize, inside: &[(usize, &str)]) -> Result<Option<Block>, Slip> {
        let Some(rest) = self.tag.strip_prefix("console") else { return Ok(None) };
        if rest.starts_with(|next: char| next.is_alphanumeric() || next == '-') {
            return Ok(None);
        }
        let ignored = if rest.is_empty() {
            None
        } else {
            let reason = rest.strip_prefix(",ignore").and_then(|rest| rest.strip_prefix(':'));
            let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
            let got = format!("`{}`", self.tag);
            let expected = "`console`, or `console,ignore:` and a reason";
            Some(reason.ok_or(Slip { line, expected, got })?.to_owned())
        };
        Ok(Some(Block { line, ignored, commands: commands(line, inside)? }))
    }
}

fn commands(fence: usize, inside: &[(usize, &str)]) -> Result<Vec<Shown>, Slip> {
    let mut commands: Vec<Shown> = Vec::new();
    let mut lines = inside.iter().copied();
    while let Some((line, text)) = lines.next() {
        if let Some(first) = text.strip_prefix("$ ") {
            let command = whole_command(line, first, &mut lines)?;
            let exits = command.lines().find_map(exits).unwrap_or(0);
            commands.push(Shown { line, command, exits, output: vec![] });
        } else if let Some(shown) = commands.last_mut() {
            shown.output.push(text.to_owned());
        } else {
            let expected = "a command, on a line that starts with `$ `";
            return Err(Slip { line, expected, got: format!("`{text}`") });
        }
    }
    if commands.is_empty() {
        let expected = "a command, on a line that starts with `$ `";
        return Err(Slip { line: fence, expected, got: "an empty block".into() });
    }
    Ok(commands)
}

/// A command with the lines that belong to it: after a backslash, or up to the end of a text that
/// it is fed with `<<END`.
fn whole_command<'a>(
    line: usize,
    first: &str,
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
) -> Result<String, Slip> {
    let mut command = first.to_owned();
    while command.ends_with('\\') {
        let Some((_, next)) = lines.next() else { break };
        command = format!("{command}\n{next}");
    }
    if let Some(end) = fed_until(&command) {
        loop {
            let got = "the end of the block".into();
            let expected = "the line that ends the text after `<<`";
            let (_, next) = lines.next().ok_or(Slip { line, expected, got })?;
            command = format!("{command}\n{next}");
            if next.trim() == end {
                break;
            }
        }
    }
    Ok(command)
}

/// The word that ends the text a command is fed with.
fn fed_until(command: &str) -> Option<String> {
    let (_, after) = command.split_once("<<")?;
    let word = after.trim_start_matches(['-', ' ']).split_whitespace().next()?;
    let word = word.trim_matches(['\'', '"']);
    let is_word = word.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    (is_word && !word.is_empty()).then(|| word.to_owned())
}

/// The code in a comment at the end of a line, as in `# exits 2`.
fn exits(line: &str) -> Option<i32> {
    line.rsplit_once("# exits ")?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Block {
        let (mut blocks, slips) = read(text);
        assert_eq!((blocks.len(), slips), (1, vec![]));
        blocks.remove(0)
    }

    #[test]
    fn commands_and_what_they_print() {
        let block =
            only("# Try\n\n```console\n$ heeler demo\nfifo  12\n\n$ heeler x # exits 2\n```\n");
        let demo = Shown {
            line: 4,
            command: "heeler demo".into(),
            exits: 0,
            output: vec!["fifo  12".into(), String::new()],
        };
        assert_eq!((block.line, &block.ignored, &block.commands[0]), (3, &None, &demo));
        assert_eq!((block.commands[1].line, block.commands[1].exits), (7, 2));
    }

    #[test]
    fn other_blocks_are_left_alone() {
        let text = "```toml\n$ no\n```\n````md\n```console\n$ no\n```\n````\n```consoles\nx\n```\n";
        assert_eq!(read(text), (vec![], vec![]));
    }

    #[test]
    fn blocks_in_lists_lose_their_indentation() {
        let block = only("1. Try:\n\n   ```console\n   $ heeler demo\n     12\n   ```\n");
        assert_eq!(block.commands[0].command, "heeler demo");
        assert_eq!(block.commands[0].output, ["  12"]);
    }

    #[test]
    fn long_commands_stay_together() {
        let text =
            "```console\n$ cat > a.toml <<'END'\nx = 1\n$ y\nEND\n$ heeler \\\n    demo\nok\n```\n";
        let block = only(text);
        assert_eq!(block.commands[0].command, "cat > a.toml <<'END'\nx = 1\n$ y\nEND");
        assert_eq!(block.commands[1].command, "heeler \\\n    demo");
        assert_eq!(block.commands[1].output, ["ok"]);
    }

    #[test]
    fn a_block_may_say_why_it_is_not_run() {
        let block = only("```console,ignore: needs Slurm\n$ heeler slurm\n```\n");
        assert_eq!(block.ignored.as_deref(), Some("needs Slurm"));
        for tag in ["console,ignore", "console,ignore:", "console,skip: because"] {
            let (blocks, slips) = read(&format!("\n```{tag}\n$ heeler slurm\n```\n"));
            assert_eq!(blocks, []);
            assert_eq!((slips[0].line, slips[0].got.as_str()), (2, format!("`{tag}`").as_str()));
        }
    }

    #[test]
    fn slips_are_found() {
        let slip = |text: &str| {
            let (blocks, slips) = read(text);
            assert_eq!((blocks, slips.len()), (vec![], 1));
            (slips[0].line, slips[0].expected)
        };
        assert_eq!(slip("```console\n```\n").1, "a command, on a line that starts with `$ `");
        assert_eq!(slip("```console\nheeler demo\n```\n").0, 2);
        assert_eq!(slip("```console\n$ heeler demo\n").1, "a fence that closes the block");
        assert_eq!(slip("```console\n$ cat <<END\nx\n```\n").0, 2);
    }
}
