//! What stands for numbers and names in the path of an output file.

/// What a pattern is filled in with.
#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    /// The job.
    pub job: u32,
    /// Its array and its number there.
    pub array: Option<(u32, u32)>,
    /// What people call it.
    pub name: &'a str,
    /// Who handed it in.
    pub user: &'a str,
    /// Its first node, once it has one.
    pub node: Option<&'a str>,
}

impl Labels<'_> {
    /// A pattern filled in: `%j` the job, `%A` its array (or itself), `%a` its number there, `%x`
    /// its name, `%u` its user, `%N` its first node, `%%` a percent sign; `%4j` has at least four
    /// digits.
    pub fn fill(&self, pattern: &str) -> String {
        let mut text = String::new();
        let mut letters = pattern.chars();
        while let Some(letter) = letters.next() {
            if letter != '%' {
                text.push(letter);
                continue;
            }
            let mut digits = String::new();
            let mut kind = letters.next();
            while let Some(digit) = kind.filter(char::is_ascii_digit) {
                digits.push(digit);
                kind = letters.next();
            }
            let width = digits.parse::<usize>().unwrap_or(0).min(10);
            let number = |number: u32| format!("{number:0width$}");
            let place = |text: &str| text.replace('/', "_");
            match kind {
                Some('j') => text += &number(self.job),
                Some('A') => text += &number(self.array.map_or(self.job, |(array, _)| array)),
                Some('a') => text += &number(self.array.map_or(0, |(_, task)| task)),
                Some('x') => text += &place(self.name),
                Some('u') => text += &place(self.user),
                Some('N') => text += self.node.unwrap_or("%N"),
                Some('%') => text.push('%'),
                Some(other) => text.extend(['%', other]),
                None => text.push('%'),
            }
        }
        text
    }
}
