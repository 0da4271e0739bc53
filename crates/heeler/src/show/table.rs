//! Tables for people: a header, a rule, and columns that line up.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, TableStyle};

const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// How wide text may be where there is no terminal to say so.
const WIDTH: u16 = 100;

/// A table for people.
pub(crate) struct Table {
    table: comfy_table::Table,
}

impl Table {
    /// A table of figures with these columns. A name that ends in `>` is a column of numbers.
    pub(crate) fn new(columns: &[&str]) -> Table {
        let mut table = comfy_table::Table::new();
        table.load_style(STYLE);
        table.set_header(columns.iter().map(|name| name.trim_end_matches('>')));
        for (index, name) in columns.iter().enumerate() {
            let column = table.column_mut(index).expect("the column was just made");
            column.set_padding((0, 2));
            if name.ends_with('>') {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        Table { table }
    }

    /// A table with sentences in it, which are broken to fit the terminal.
    pub(crate) fn prose(columns: &[&str]) -> Table {
        let mut prose = Table::new(columns);
        prose.table.set_content_arrangement(ContentArrangement::Dynamic);
        if !prose.table.is_tty() {
            prose.table.set_width(WIDTH);
        }
        prose
    }

    /// Add a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = impl ToString>) {
        self.table.add_row(cells.into_iter().map(|cell| cell.to_string()));
    }

    /// The table as text.
    pub(crate) fn text(&self) -> String {
        self.table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }
}
