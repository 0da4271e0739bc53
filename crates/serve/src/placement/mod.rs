//! Which models share which GPUs, after AlpaServe (OSDI 2023): groups of GPUs, each a pipeline of as
//! many stages, with replicas of several models on each. A plan is tried by simulating it.
