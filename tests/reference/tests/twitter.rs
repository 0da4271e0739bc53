//! A day of traffic by the second: requests made up from the rates of the Twitter trace come as
//! often as it says, hour by hour.

use flate2::read::GzDecoder;
use heeler_reference::file;
use heeler_serve::arrivals::ShapeCard;
use heeler_serve::{SECOND_NS, Traffic, TrafficCard};
use std::fs::File;
use std::io::Read;

const DAY_S: usize = 86_400;

#[test]
fn a_day_by_the_second() {
    let Some(path) = file("twitter-serving/twitter_rps_7d.txt.gz") else { return };
    let mut text = String::new();
    let mut reader = GzDecoder::new(File::open(path).expect("the trace"));
    reader.read_to_string(&mut text).expect("text");
    let rates = text.lines().map(|line| line.trim().parse::<f64>().expect("requests"));
    let factors: Vec<f64> = rates.take(DAY_S).collect();
    assert_eq!(factors.len(), DAY_S);
    let hours: Vec<f64> = factors.chunks(3_600).map(|hour| hour.iter().sum()).collect();
    let shape = ShapeCard { factors, step_s: 1.0, repeat: true };
    let card = TrafficCard { shape: Some(shape), ..TrafficCard::poisson(1.0) };
    let mut made = [0.0; 24];
    for request in Traffic::new(&card, 1, 0, 0, DAY_S as u64 * SECOND_NS) {
        made[(request.at_ns / (3_600 * SECOND_NS)) as usize] += 1.0;
    }
    for (hour, (made, told)) in made.iter().zip(&hours).enumerate() {
        // Four deviations of a Poisson process.
        assert!((made - told).abs() < 4.0 * told.sqrt(), "hour {hour}: {made} of {told}");
    }
}
