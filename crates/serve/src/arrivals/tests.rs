//! Tests of traffic.
