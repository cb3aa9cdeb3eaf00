//! Batches of pi runs on one machine: each run is a pi process in RPC mode whose progress is journaled at its barriers.
//!
//! A [`FleetEngine`] stores tasks and the log of each run, and hands runs to workers. The driver starts one process per
//! run, appends to its log at every barrier and responds. Any process may be killed at any time: the next worker
//! continues the run from its log. The session file is the journal; the log of a run refers to it and never repeats it.
#![cfg_attr(
    test,
    expect(
        clippy::disallowed_methods,
        reason = "test files need no atomic writes"
    )
)]

mod budget;
mod cli;
mod driver;
mod duration;
mod engine;
mod finished_workspaces;
mod journal;
mod leftovers;
mod limits;
mod live;
mod record;
mod regular_file;
mod result_files;
mod run_result;
mod run_state;
mod saved_runs;
mod secrets;
mod session_file;
mod settings;
mod store;
mod task;
mod telemetry;
mod view;
mod worker_pool;
mod workspace;

pub use budget::Budget;
pub use cli::run_command;
pub use driver::{DriverOptions, RunEnd, WorkerResources};
pub use engine::{
    AppendError, Charge, ControlMessage, Delivery, EngineError, FleetEngine, Lease, LocalEngine,
    NatsEngine, NatsOptions, NextRun, RunContent, RunControl, RunLog, RunOverview,
};
pub use limits::{
    BucketChange, BucketGrant, BucketId, BudgetLimits, FleetLimits, RateLimiter, Rates,
};
pub use live::{LiveClient, LiveEvents, LiveHost, LiveRequest};
pub use record::{LogEntry, RunRecord};
pub use result_files::{ResultsError, write_results};
pub use run_result::{RunResult, RunStatus, RunUsage, VerifyResult};
pub use run_state::RunState;
pub use secrets::{SecretError, SecretStore};
pub use store::{ArtifactStore, StoreError};
pub use task::{FleetTask, TaskError, TaskLimits, WorkspaceKind, parse_tasks};
pub use worker_pool::{PoolSummary, WhenEmpty, WorkerPool};
pub use workspace::ContainerOptions;
