//! `pi fleet watch`: a table on a terminal, otherwise a line for each change.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::batches::Batches;
use super::signals::Signals;
use super::terminal::{Console, Drawing};
use super::words::Failure;
use super::{SUCCESS, eprint_line, print, warn_of_problems};
use crate::engine::{LocalEngine, RunOverview};
use crate::view;

/// How often the table is drawn.
const REFRESH: Duration = Duration::from_secs(1);

/// Reading a large batch takes at most this part of the time.
const READING_SHARE: u32 = 5;

/// Shows the runs of a batch until all have ended.
pub(super) async fn watch(
    batches: &Batches,
    batch: Option<String>,
    console: Console,
) -> Result<u8, Failure> {
    let name = match batch {
        Some(name) => name,
        None => batches.latest().await?,
    };
    let engine = batches.open(&name).await?;
    let mut signals = Signals::listen()?;
    let mut drawing = console.drawing(&name);
    let mut known = HashMap::new();
    let mut is_reachable = true;
    let mut has_warned = false;
    loop {
        let reading = Instant::now();
        let overview = tokio::select! {
            biased;
            () = signals.next() => return Ok(SUCCESS),
            overview = engine.overview() => overview,
        };
        let runs = match overview {
            Err(error) if error.is_transient() => {
                // Once per outage.
                if std::mem::take(&mut is_reachable) {
                    drawing.end();
                    eprint_line(&format!("warning: {error}; trying again"));
                }
                None
            }
            runs => Some(runs?),
        };
        let pause = REFRESH.max(reading.elapsed() * READING_SHARE);
        if let Some(runs) = runs {
            is_reachable = true;
            if !std::mem::replace(&mut has_warned, true) {
                warn_of_problems(&runs);
            }
            let is_over = runs.iter().all(view::is_over);
            if Console::is_watched() {
                drawing.draw(&runs);
            } else {
                let mut lines = changes(&mut known, &runs);
                lines.extend(is_over.then(|| view::totals(&name, &runs)));
                if !lines.iter().all(|line| print(line)) {
                    return Ok(SUCCESS);
                }
            }
            if is_over {
                return Ok(SUCCESS);
            }
        }
        tokio::select! {
            () = signals.next() => return Ok(SUCCESS),
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Draws the table of a batch of this machine again and again. Reads its files on another thread, since this one serves the
/// runs. Returns why it cannot.
pub(super) async fn draw(engine: Arc<LocalEngine>, mut drawing: Drawing) -> Failure {
    loop {
        let start = Instant::now();
        let reading = Arc::clone(&engine);
        let runs = match tokio::task::spawn_blocking(move || reading.list()).await {
            Ok(Ok(runs)) => runs,
            Ok(Err(error)) => return error.into(),
            Err(panicked) => return Failure::new(format!("cannot read the batch: {panicked}")),
        };
        drawing.draw(&runs);
        let pause = REFRESH.max(start.elapsed() * READING_SHARE);
        tokio::time::sleep(pause).await;
    }
}

/// Returns a line for each run whose status has changed.
fn changes(known: &mut HashMap<String, &'static str>, runs: &[RunOverview]) -> Vec<String> {
    let changed = runs.iter().filter_map(|run| {
        let status = view::status(run);
        let before = known.insert(run.task.id.clone(), status);
        (before != Some(status))
            .then(|| format!("{} {status} ${:.2}", run.task.id, view::cost(run)))
    });
    changed.collect()
}
