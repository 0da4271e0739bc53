//! Where names of points go, so that none of them covers another one or a point.

/// Room that a letter takes, and a line.
const LETTER_PX: f64 = 6.4;
const LINE_PX: f64 = 13.0;

/// Half the room that a point takes.
const POINT_PX: f64 = 5.0;

/// How far names may be from their points; a name further away than the nearest is led to its point
/// by a line.
const NEAR_PX: [f64; 2] = [9.0, 14.0];
const FAR_PX: [f64; 10] = [22.0, 32.0, 44.0, 58.0, 74.0, 92.0, 112.0, 136.0, 164.0, 200.0];

/// Directions from a point, the most legible first.
const DIRECTIONS: [(f64, f64); 12] = [
    (1.0, 0.0),
    (-1.0, 0.0),
    (0.0, -1.0),
    (0.0, 1.0),
    (0.8, -0.6),
    (0.8, 0.6),
    (-0.8, -0.6),
    (-0.8, 0.6),
    (0.4, -0.9),
    (0.4, 0.9),
    (-0.4, -0.9),
    (-0.4, 0.9),
];

/// A point and its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named {
    /// Where the point is.
    pub(super) at: (f64, f64),
    /// How long the name is.
    pub(super) letters: usize,
    /// Whether it is named even if that takes a line from far away.
    pub(super) must: bool,
}

/// Left, top, right, bottom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area(pub(super) f64, pub(super) f64, pub(super) f64, pub(super) f64);

impl Area {
    fn meets(&self, other: &Area) -> bool {
        self.0 < other.2 && other.0 < self.2 && self.1 < other.3 && other.1 < self.3
    }

    fn holds(&self, other: &Area) -> bool {
        self.0 <= other.0 && self.1 <= other.1 && other.2 <= self.2 && other.3 <= self.3
    }

    /// The middle of its height.
    pub(super) fn middle(&self) -> f64 {
        (self.1 + self.3) / 2.0
    }
}

/// Where a name stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spot {
    /// The room it takes.
    pub(super) area: Area,
    /// Where the line from its point ends, if it needs one.
    pub(super) led: Option<(f64, f64)>,
}

/// A place for each name, as far as there is room. Those that must have one choose first.
pub(super) fn place(points: &[Named], room: Area) -> Vec<Option<Spot>> {
    let mut taken: Vec<Area> = points.iter().map(|point| around(point.at)).collect();
    let mut spots = vec![None; points.len()];
    for must in [true, false] {
        for (point, spot) in points.iter().zip(&mut spots) {
            if point.must == must {
                *spot = find(point, room, &taken);
                taken.extend(spot.iter().map(|spot| spot.area));
            }
        }
    }
    spots
}

fn around((x, y): (f64, f64)) -> Area {
    Area(x - POINT_PX, y - POINT_PX, x + POINT_PX, y + POINT_PX)
}

fn find(point: &Named, room: Area, taken: &[Area]) -> Option<Spot> {
    let far = if point.must { &FAR_PX[..] } else { &[] };
    let near = NEAR_PX.iter().map(|distance| (*distance, false));
    let all = near.chain(far.iter().map(|distance| (*distance, true)));
    let mut spots =
        all.flat_map(|(distance, led)| DIRECTIONS.map(|way| spot(point, distance, way, led)));
    spots.find(|spot| room.holds(&spot.area) && !taken.iter().any(|other| other.meets(&spot.area)))
}

/// A name some way from its point; it begins or ends there, or has its middle there.
fn spot(point: &Named, distance: f64, (right, down): (f64, f64), led: bool) -> Spot {
    let (x, y) = (point.at.0 + right * distance, point.at.1 + down * distance);
    let width = point.letters as f64 * LETTER_PX;
    let left = match right {
        0.0 => x - width / 2.0,
        right if right > 0.0 => x,
        _ => x - width,
    };
    let area = Area(left, y - LINE_PX / 2.0, left + width, y + LINE_PX / 2.0);
    Spot { area, led: led.then_some((x, y)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Area = Area(0.0, 0.0, 300.0, 300.0);

    fn named(x: f64, y: f64, must: bool) -> Named {
        Named { at: (x, y), letters: 10, must }
    }

    #[test]
    fn a_name_alone_stands_beside_its_point() {
        let spots = place(&[named(100.0, 100.0, false), named(290.0, 200.0, false)], ROOM);
        let [right, left] = [0, 1].map(|at| spots[at].expect("there is room"));
        assert_eq!((right.area.0, right.led), (109.0, None));
        assert!(left.area.2 < 290.0, "at the right end it stands on the left");
    }

    #[test]
    fn names_cover_neither_names_nor_points() {
        let crowd = |at: usize| named(150.0 + (at % 3) as f64, 150.0 + (at / 3) as f64, true);
        let points: Vec<Named> = (0..14).map(crowd).chain([named(150.0, 140.0, false)]).collect();
        let spots = place(&points, ROOM);
        let areas: Vec<Area> = spots.iter().flatten().map(|spot| spot.area).collect();
        assert!(areas.len() >= 14, "all that must have one: {}", areas.len());
        for (at, area) in areas.iter().enumerate() {
            assert!(ROOM.holds(area));
            assert!(areas[at + 1..].iter().all(|other| !other.meets(area)));
            assert!(points.iter().all(|point| !around(point.at).meets(area)));
        }
        assert!(spots.iter().flatten().any(|spot| spot.led.is_some()));
    }
}
