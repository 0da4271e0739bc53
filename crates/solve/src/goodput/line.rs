//! How far to go in one direction: the search of Moré and Thuente (1994), which brackets a length
//! that gains enough and leaves a gentle slope, guessing by cubes and squares through what was
//! seen.

/// A step has to gain this part of what the slope at its beginning promises …
const GAIN_MIN: f64 = 1e-3;
/// … and to leave no more than this part of the slope.
const SLOPE_MAX: f64 = 0.9;
/// A bracket so narrow, compared with where it lies, is not searched any further.
const WIDTH_MIN: f64 = 0.1;
/// A bracket has to shrink to this part in two tries, or it is halved.
const SHRINK: f64 = 0.66;
/// While nothing is bracketed, each try goes at least and at most so many times further.
const FURTHER: (f64, f64) = (1.1, 4.0);

/// What to do next.
pub(super) enum Next {
    /// Evaluate at this length.
    Try(f64),
    /// Take what was evaluated last.
    Take,
}

/// Value and slope at some length.
#[derive(Clone, Copy)]
struct Seen {
    at: f64,
    value: f64,
    slope: f64,
}

/// A search that goes on.
pub(super) struct Line {
    start: Seen,
    furthest: f64,
    /// The best end of the bracket, and the other one.
    best: Seen,
    other: Seen,
    is_bracketed: bool,
    /// Whether enough was gained once, with the slope turned upwards.
    has_turned: bool,
    low: f64,
    high: f64,
    width: f64,
    width_before: f64,
}

impl Line {
    /// Begin where the value and the slope are these, to try a length first, up to the furthest.
    pub(super) fn new(value: f64, slope: f64, length: f64, furthest: f64) -> Line {
        let start = Seen { at: 0.0, value, slope };
        Line {
            start,
            furthest,
            best: start,
            other: start,
            is_bracketed: false,
            has_turned: false,
            low: 0.0,
            high: length + FURTHER.1 * length,
            width: furthest,
            width_before: 2.0 * furthest,
        }
    }

    /// What to do after this was seen.
    pub(super) fn next(&mut self, at: f64, value: f64, slope: f64) -> Next {
        let promised = GAIN_MIN * self.start.slope;
        let enough = self.start.value + at * promised;
        self.has_turned |= value <= enough && slope >= 0.0;
        let is_stuck = self.is_bracketed
            && (at <= self.low || at >= self.high || self.high - self.low <= WIDTH_MIN * self.high);
        let is_furthest = at == self.furthest && value <= enough && slope <= promised;
        let is_gentle = value <= enough && slope.abs() <= -SLOPE_MAX * self.start.slope;
        if is_stuck || is_furthest || is_gentle || at <= 0.0 {
            return Next::Take;
        }
        let seen = Seen { at, value, slope };
        // Before it turned, the line of what has to be gained is taken off.
        let tilt = !self.has_turned && value <= self.best.value && value > enough;
        let by = if tilt { promised } else { 0.0 };
        let tilted = |seen: Seen, by: f64| Seen {
            value: seen.value - seen.at * by,
            slope: seen.slope - by,
            ..seen
        };
        (self.best, self.other) = (tilted(self.best, by), tilted(self.other, by));
        let mut length = self.guess(tilted(seen, by));
        (self.best, self.other) = (tilted(self.best, -by), tilted(self.other, -by));
        if self.is_bracketed {
            let width = (self.other.at - self.best.at).abs();
            if width >= SHRINK * self.width_before {
                length = self.best.at + 0.5 * (self.other.at - self.best.at);
            }
            (self.width_before, self.width) = (self.width, width);
            self.low = self.best.at.min(self.other.at);
            self.high = self.best.at.max(self.other.at);
        } else {
            self.low = length + FURTHER.0 * (length - self.best.at);
            self.high = length + FURTHER.1 * (length - self.best.at);
        }
        length = length.clamp(0.0, self.furthest);
        let is_narrow = self.high - self.low <= WIDTH_MIN * self.high;
        if self.is_bracketed && (length <= self.low || length >= self.high || is_narrow) {
            length = self.best.at;
        }
        Next::Try(length)
    }

    /// Guess the next length and narrow the bracket.
    fn guess(&mut self, seen: Seen) -> f64 {
        let Line { best, other, .. } = *self;
        let turns = seen.slope * best.slope.signum() < 0.0;
        let length;
        if seen.value > best.value {
            // Higher: the bottom lies between.
            let cube = best.at + cube(best, seen) * (seen.at - best.at);
            let chord = (best.value - seen.value) / (seen.at - best.at) + best.slope;
            let square = best.at + best.slope / chord / 2.0 * (seen.at - best.at);
            let is_near = (cube - best.at).abs() < (square - best.at).abs();
            length = if is_near { cube } else { cube + (square - cube) / 2.0 };
            self.is_bracketed = true;
        } else if turns {
            // Lower, and rising: between as well.
            let cube = seen.at + cube(seen, best) * (best.at - seen.at);
            let square = seen.at + secant(best, seen) * (best.at - seen.at);
            let is_far = (cube - seen.at).abs() > (square - seen.at).abs();
            length = if is_far { cube } else { square };
            self.is_bracketed = true;
        } else if seen.slope.abs() < best.slope.abs() {
            length = self.guess_beyond(seen);
        } else if self.is_bracketed {
            length = seen.at + cube(seen, other) * (other.at - seen.at);
        } else {
            length = if seen.at > best.at { self.high } else { self.low };
        }
        if seen.value > best.value {
            self.other = seen;
        } else {
            if turns {
                self.other = best;
            }
            self.best = seen;
        }
        length
    }

    /// Lower, falling, and ever more gently: the bottom lies beyond.
    fn guess_beyond(&self, seen: Seen) -> f64 {
        let Line { best, other, .. } = *self;
        let (bow, root) = bow(seen, best);
        let root = if seen.at > best.at { -root } else { root };
        let ratio = ((root - seen.slope) + bow) / ((root + (best.slope - seen.slope)) + root);
        let is_forward = seen.at > best.at;
        let cube = match (ratio < 0.0 && root != 0.0, is_forward) {
            (true, _) => seen.at + ratio * (best.at - seen.at),
            (false, true) => self.high,
            (false, false) => self.low,
        };
        let square = seen.at + secant(best, seen) * (best.at - seen.at);
        let cube_is_nearer = (cube - seen.at).abs() < (square - seen.at).abs();
        let cube_is_further = (cube - seen.at).abs() > (square - seen.at).abs();
        if self.is_bracketed {
            let length = if cube_is_nearer { cube } else { square };
            let most = seen.at + SHRINK * (other.at - seen.at);
            if is_forward { length.min(most) } else { length.max(most) }
        } else {
            let length = if cube_is_further { cube } else { square };
            length.min(self.high).max(self.low)
        }
    }
}

/// How far the slope of the cube through two points bows, and the root that finds its bottom.
fn bow(one: Seen, two: Seen) -> (f64, f64) {
    let bow = 3.0 * (two.value - one.value) / (one.at - two.at) + one.slope + two.slope;
    let size = bow.abs().max(one.slope.abs()).max(two.slope.abs());
    let square = (bow / size) * (bow / size) - (one.slope / size) * (two.slope / size);
    (bow, size * square.max(0.0).sqrt())
}

/// The bottom of the cube through two points, as a part of the way from the first to the second.
fn cube(from: Seen, to: Seen) -> f64 {
    let (bow, root) = bow(from, to);
    let root = if to.at < from.at { -root } else { root };
    ((root - from.slope) + bow) / (((root - from.slope) + root) + to.slope)
}

/// Where the slope is nothing on a line through the slopes, as a part of the way back.
fn secant(best: Seen, seen: Seen) -> f64 {
    seen.slope / (seen.slope - best.slope)
}
