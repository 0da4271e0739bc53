//! One step of the interior-point method for sharing: a block of two rows for each class, and one
//! small system for columns and the level. Determinants are sums of what is not negative, because
//! differences would be lost near the end, where some numbers are ten orders apart.

use super::interior::{Point, Problem};

/// A change of everything.
pub(super) type Direction = Point;

/// What is missing from each row, and what products of slacks and prices should become.
#[derive(Clone, Debug)]
pub(super) struct Pull {
    pub(super) share: Vec<f64>,
    pub(super) idle: Vec<f64>,
    pub(super) over: Vec<f64>,
    pub(super) free: Vec<f64>,
    pub(super) level: f64,
}

/// A pull and by how much each product of slack and price should change.
pub(super) struct Target<'a> {
    pull: &'a Pull,
    share: Vec<f64>,
    idle: Vec<f64>,
    over: Vec<f64>,
    free: Vec<f64>,
}

impl Pull {
    pub(super) fn none(classes: usize, columns: usize) -> Pull {
        let nothing = || vec![0.0; classes];
        let share = vec![0.0; classes * columns];
        Pull { share, idle: nothing(), over: nothing(), free: vec![0.0; columns], level: 0.0 }
    }

    pub(super) fn largest(&self) -> f64 {
        let all = self.share.iter().chain(&self.idle).chain(&self.over).chain(&self.free);
        all.fold(self.level.abs(), |largest, value| largest.max(value.abs()))
    }

    /// Products are to stay as they are.
    pub(super) fn as_it_is(&self, at: &Point) -> Target<'_> {
        let nothing = |of: &[f64]| vec![0.0; of.len()];
        Target {
            pull: self,
            share: nothing(&at.share),
            idle: nothing(&at.idle),
            over: nothing(&at.over),
            free: nothing(&at.free),
        }
    }

    /// Products are to become so much, allowing for what a predicted step would make of them. Where
    /// classes count, those of a class so many times that.
    pub(super) fn towards(
        &self,
        at: &Point,
        (mean, counts): (f64, Option<&[f64]>),
        by: Option<&Direction>,
    ) -> Target<'_> {
        let columns = at.free.len();
        let count = |class: usize| counts.map_or(1.0, |counts| counts[class]);
        let change =
            |slack: &[f64], price: &[f64], steps: Option<(&[f64], &[f64])>, each: Option<usize>| {
                let product = |(index, (slack, price)): (usize, (&f64, &f64))| {
                    let aim = mean * each.map_or(1.0, |each| count(index / each));
                    let second = steps.map_or(0.0, |(a, b)| a[index] * b[index]);
                    aim - slack * price - second
                };
                slack.iter().zip(price).enumerate().map(product).collect()
            };
        let steps = |of: fn(&Direction) -> (&[f64], &[f64])| by.map(of);
        let share = steps(|by| (by.share.as_slice(), by.share_price.as_slice()));
        let idle = steps(|by| (by.idle.as_slice(), by.idle_price.as_slice()));
        let over = steps(|by| (by.over.as_slice(), by.over_price.as_slice()));
        let free = steps(|by| (by.free.as_slice(), by.free_price.as_slice()));
        Target {
            pull: self,
            share: change(&at.share, &at.share_price, share, Some(columns)),
            idle: change(&at.idle, &at.idle_price, idle, Some(1)),
            over: change(&at.over, &at.over_price, over, Some(1)),
            free: change(&at.free, &at.free_price, free, None),
        }
    }
}

/// How the shares of a class answer to pulls, within its time and its worth.
struct Block {
    /// How much each share would give way alone.
    give: Vec<f64>,
    /// What is left of that within the rows of the class.
    solo: Vec<f64>,
    /// How a pull on one share moves another, by pairs.
    joined: Vec<f64>,
    /// How pulls on shares move the prices of the two rows.
    corners: Vec<(f64, f64)>,
    /// How the rows answer to themselves: time, both, worth.
    rows: (f64, f64, f64),
}

impl Block {
    fn of(worth: &[f64], give: Vec<f64>, idle: f64, over: f64) -> Block {
        let columns = give.len();
        let determinant = determinant(worth, &give, (idle, over), None);
        let (mut time, mut both, mut value) = (idle, 0.0, over);
        for (give, own) in give.iter().zip(worth) {
            time += give;
            both += give * own;
            value += give * own * own;
        }
        let mut block = Block {
            solo: Vec::with_capacity(columns),
            joined: vec![0.0; columns * columns],
            corners: Vec::with_capacity(columns),
            rows: (time / determinant, both / determinant, value / determinant),
            give,
        };
        for (row, here) in worth.iter().enumerate() {
            let alone = self::determinant(worth, &block.give, (idle, over), Some(row));
            block.solo.push(alone / determinant);
            let (mut first, mut second) = (over, -here * idle);
            for (give, own) in block.give.iter().zip(worth) {
                first += give * own * (own - here);
                second += give * (own - here);
            }
            block.corners.push((first / determinant, second / determinant));
            for (column, there) in worth.iter().enumerate().take(row) {
                let mut joined = over + here * there * idle;
                for (give, own) in block.give.iter().zip(worth) {
                    joined += give * (own - here) * (own - there);
                }
                block.joined[row * columns + column] = joined / determinant;
                block.joined[column * columns + row] = joined / determinant;
            }
        }
        block
    }

    /// Add how the class joins columns.
    fn add_to(&self, system: &mut [f64], take: &[f64]) {
        let columns = take.len();
        let end = |column: usize| take[column] * self.give[column];
        for row in 0..columns {
            system[row * columns + row] += take[row] * end(row) * self.solo[row];
            for column in (0..columns).filter(|column| *column != row) {
                let joined = self.joined[row * columns + column];
                system[row * columns + column] -= end(row) * end(column) * joined;
            }
        }
    }

    /// How shares and the prices of the two rows answer to pulls on shares and on rows.
    fn answer(&self, pulls: &[f64], rows: (f64, f64), shares: &mut [f64]) -> (f64, f64) {
        let columns = pulls.len();
        let mut prices = (
            self.rows.2 * rows.0 + self.rows.1 * rows.1,
            self.rows.1 * rows.0 + self.rows.0 * rows.1,
        );
        for column in 0..columns {
            let corner = self.corners[column];
            let own = self.give[column] * pulls[column];
            prices.0 += own * corner.0;
            prices.1 += own * corner.1;
            let mut left = pulls[column] * self.solo[column];
            left -= corner.0 * rows.0 + corner.1 * rows.1;
            for other in (0..columns).filter(|other| *other != column) {
                left -= self.joined[column * columns + other] * self.give[other] * pulls[other];
            }
            shares[column] = self.give[column] * left;
        }
        prices
    }
}

/// The determinant of the two rows of a class, without a column (or with all of them).
fn determinant(
    worth: &[f64],
    give: &[f64],
    (idle, over): (f64, f64),
    without: Option<usize>,
) -> f64 {
    let (mut time, mut value, mut apart) = (0.0, 0.0, 0.0);
    for column in (0..give.len()).filter(|column| Some(*column) != without) {
        time += give[column];
        value += give[column] * worth[column] * worth[column];
        for other in (0..column).filter(|other| Some(*other) != without) {
            apart += give[column] * give[other] * (worth[column] - worth[other]).powi(2);
        }
    }
    apart + idle * (value + over) + over * time
}

/// The system at a point.
pub(super) struct Normal {
    blocks: Vec<Block>,
    /// The triangle of the system of columns.
    triangle: Vec<f64>,
    /// How the level pulls on columns, and on itself.
    lift: Vec<f64>,
    stiffness: f64,
}

impl Normal {
    /// None where numbers have run out.
    pub(super) fn of(problem: &Problem, at: &Point) -> Option<Normal> {
        let columns = problem.columns;
        let mut system = vec![0.0; columns * columns];
        for column in 0..columns {
            system[column * columns + column] = at.free[column] / at.free_price[column];
        }
        let mut blocks = Vec::with_capacity(problem.need.len());
        let (mut lift, mut stiffness) = (vec![0.0; columns], 0.0);
        for class in 0..problem.need.len() {
            let cells = class * columns..(class + 1) * columns;
            let give =
                |cell: usize| 1.0 / (problem.square[cell] + at.share_price[cell] / at.share[cell]);
            let give = cells.clone().map(give).collect();
            let idle = at.idle[class] / at.idle_price[class];
            let over = at.over[class] / at.over_price[class];
            let block = Block::of(&problem.worth[cells.clone()], give, idle, over);
            let take = &problem.take[cells];
            block.add_to(&mut system, take);
            let rise = problem.rise[class];
            stiffness += rise * rise * block.rows.0;
            for (column, lift) in lift.iter_mut().enumerate() {
                *lift += rise * take[column] * block.give[column] * block.corners[column].1;
            }
            blocks.push(block);
        }
        if stiffness > 0.0 {
            for row in 0..columns {
                for column in 0..columns {
                    system[row * columns + column] += lift[row] * lift[column] / stiffness;
                }
            }
        }
        let triangle = triangle(system, columns)?;
        Some(Normal { blocks, triangle, lift, stiffness })
    }

    /// The change that meets a target, to first order.
    pub(super) fn direction(&self, problem: &Problem, at: &Point, to: &Target) -> Direction {
        let columns = problem.columns;
        let side = |column: usize| to.free[column] / at.free_price[column] - to.pull.free[column];
        let mut by_columns: Vec<f64> = (0..columns).map(side).collect();
        let mut by_level = to.pull.level;
        let (mut pulls, mut shares) = (vec![0.0; columns], vec![0.0; columns]);
        for (class, block) in self.blocks.iter().enumerate() {
            let first = class * columns;
            for (column, pull) in pulls.iter_mut().enumerate() {
                *pull = to.on_share(at, first + column);
            }
            let prices = block.answer(&pulls, to.on_rows(at, class), &mut shares);
            for column in 0..columns {
                by_columns[column] += problem.take[first + column] * shares[column];
            }
            by_level -= problem.rise[class] * prices.1;
        }
        let is_raised = self.stiffness > 0.0;
        if is_raised {
            for (side, lift) in by_columns.iter_mut().zip(&self.lift) {
                *side -= lift * by_level / self.stiffness;
            }
        }
        let free_price = solve_triangle(&self.triangle, by_columns, columns);
        let dot: f64 = self.lift.iter().zip(&free_price).map(|(lift, price)| lift * price).sum();
        let level = if is_raised { (by_level + dot) / self.stiffness } else { 0.0 };
        self.back(problem, at, to, (free_price, level))
    }

    /// From columns and the level back to everything else.
    fn back(
        &self,
        problem: &Problem,
        at: &Point,
        to: &Target,
        (free_price, level): (Vec<f64>, f64),
    ) -> Direction {
        let (columns, classes) = (problem.columns, self.blocks.len());
        let mut by = Direction {
            share: vec![0.0; at.share.len()],
            share_price: vec![0.0; at.share.len()],
            idle: vec![0.0; classes],
            idle_price: vec![0.0; classes],
            over: vec![0.0; classes],
            over_price: vec![0.0; classes],
            free: Vec::new(),
            free_price,
            level,
        };
        let mut pulls = vec![0.0; columns];
        for (class, block) in self.blocks.iter().enumerate() {
            let cells = class * columns..(class + 1) * columns;
            for (column, cell) in cells.clone().enumerate() {
                let taken = problem.take[cell] * by.free_price[column];
                pulls[column] = to.on_share(at, cell) - taken;
            }
            let (time, worth) = to.on_rows(at, class);
            let rows = (time, worth + problem.rise[class] * level);
            let (idle_price, over_price) = block.answer(&pulls, rows, &mut by.share[cells.clone()]);
            for cell in cells {
                by.share_price[cell] =
                    (to.share[cell] - at.share_price[cell] * by.share[cell]) / at.share[cell];
            }
            by.idle_price[class] = idle_price;
            by.over_price[class] = over_price;
            by.idle[class] = (to.idle[class] - at.idle[class] * idle_price) / at.idle_price[class];
            by.over[class] = (to.over[class] - at.over[class] * over_price) / at.over_price[class];
        }
        let free = |column: usize| {
            (to.free[column] - at.free[column] * by.free_price[column]) / at.free_price[column]
        };
        by.free = (0..columns).map(free).collect();
        by
    }
}

impl Target<'_> {
    fn on_share(&self, at: &Point, cell: usize) -> f64 {
        self.pull.share[cell] + self.share[cell] / at.share[cell]
    }

    fn on_rows(&self, at: &Point, class: usize) -> (f64, f64) {
        (
            self.idle[class] / at.idle_price[class] - self.pull.idle[class],
            self.over[class] / at.over_price[class] - self.pull.over[class],
        )
    }
}

/// The lower triangle whose square a positive matrix is; none if it is not positive.
fn triangle(mut matrix: Vec<f64>, size: usize) -> Option<Vec<f64>> {
    for row in 0..size {
        for column in 0..=row {
            let mut value = matrix[row * size + column];
            for inner in 0..column {
                value -= matrix[row * size + inner] * matrix[column * size + inner];
            }
            if row != column {
                matrix[row * size + column] = value / matrix[column * size + column];
            } else if value > 0.0 && value.is_finite() {
                matrix[row * size + row] = value.sqrt();
            } else {
                return None;
            }
        }
    }
    Some(matrix)
}

fn solve_triangle(triangle: &[f64], mut side: Vec<f64>, size: usize) -> Vec<f64> {
    for row in 0..size {
        for column in 0..row {
            side[row] -= triangle[row * size + column] * side[column];
        }
        side[row] /= triangle[row * size + row];
    }
    for row in (0..size).rev() {
        for below in row + 1..size {
            side[row] -= triangle[below * size + row] * side[below];
        }
        side[row] /= triangle[row * size + row];
    }
    side
}
