//! The machine in a simulated session: specific situations, and properties over random schedules.

mod approval_stories;
mod barrier_stories;
mod fixtures;
mod interrupt_stories;
mod invariants;
mod lane;
mod log;
mod outcomes;
mod queue_stories;
mod recovery_stories;
mod schedule;
mod script;
mod settle_stories;
mod simulation;
mod strategies;
mod turn_stories;
