//! The smallest value of a function of a few bounded variables.
