//! Which GPUs and ports a model gets. Decisions only.

use std::collections::BTreeMap;

use crate::pods_file::{Gpu, Pod, RunningModel};

/// Port of the first model of a pod.
pub(crate) const FIRST_PORT: u16 = 8001;

/// Share of a GPU's memory that a server uses unless arguments set another one.
pub(crate) const DEFAULT_MEMORY: f64 = 0.9;

/// Limit of what a pod may report.
const MAX_GPUS: usize = 64;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum AllocationError {
    #[error("the pod has {available} GPUs, {requested} are needed")]
    TooFew { available: usize, requested: usize },
    #[error(
        "GPU {gpu} has {} % of its memory left, {} % are needed; it is used by {}",
        percent(*left), percent(*requested), users.join(", ")
    )]
    NoMemory {
        gpu: u32,
        left: f64,
        requested: f64,
        users: Vec<String>,
    },
}

fn percent(share: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "a percentage")]
    let percent = (share * 100.0).round() as i64;
    percent
}

/// Chooses the GPUs with the most free memory, and fails if one of them has less than `memory` left.
pub(crate) fn allocate(pod: &Pod, count: usize, memory: f64) -> Result<Vec<u32>, AllocationError> {
    if count > pod.gpus.len() {
        return Err(AllocationError::TooFew {
            available: pod.gpus.len(),
            requested: count,
        });
    }
    let mut used: BTreeMap<u32, f64> = pod.gpus.iter().map(|gpu| (gpu.id, 0.0)).collect();
    for model in pod.models.values() {
        for gpu in &model.gpu {
            *used.entry(*gpu).or_default() += model.memory.unwrap_or(DEFAULT_MEMORY);
        }
    }
    let mut free: Vec<(u32, f64)> = pod.gpus.iter().map(|gpu| (gpu.id, used[&gpu.id])).collect();
    free.sort_by(|left, right| left.1.total_cmp(&right.1).then(left.0.cmp(&right.0)));
    free.truncate(count);
    // Sums of shares are not exact.
    let full = free.iter().find(|(_, used)| used + memory > 1.0 + 1e-6);
    if let Some((gpu, used)) = full {
        let users = pod.models.iter();
        let users = users.filter(|(_, model)| model.gpu.contains(gpu));
        return Err(AllocationError::NoMemory {
            gpu: *gpu,
            left: (1.0 - used).max(0.0),
            requested: memory,
            users: users.map(|(name, _)| name.clone()).collect(),
        });
    }
    let mut chosen: Vec<u32> = free.into_iter().map(|(gpu, _)| gpu).collect();
    chosen.sort_unstable();
    Ok(chosen)
}

/// Returns the ports that models of a pod use.
pub(crate) fn taken_ports(pod: &Pod) -> Vec<u16> {
    pod.models.values().map(|model| model.port).collect()
}

/// Returns the first port from [`FIRST_PORT`] that no tunnel has and that `is_free`.
pub(crate) fn local_port<'models>(
    models: impl Iterator<Item = &'models RunningModel>,
    is_free: impl Fn(u16) -> bool,
) -> Option<u16> {
    let taken: Vec<u16> = models.filter_map(|model| model.local_port).collect();
    let mut ports = FIRST_PORT..u16::MAX;
    ports.find(|port| !taken.contains(port) && is_free(*port))
}

/// Reads a line of `nvidia-smi --query-gpu=index,name,memory.total --format=csv,noheader`.
pub(crate) fn parse_gpu(line: &str) -> Option<Gpu> {
    let mut columns = line.splitn(3, ',').map(str::trim);
    let id = columns.next()?.parse().ok()?;
    let text = |column: &str| -> String {
        let plain = pi_tui::sanitize(column);
        plain.chars().filter(|it| *it != '\n').take(80).collect()
    };
    Some(Gpu {
        id,
        name: text(columns.next()?),
        memory: text(columns.next()?),
        ..Gpu::default()
    })
}

/// Reads the lines of all GPUs; a GPU that is listed twice counts once.
pub(crate) fn parse_gpus<'line>(lines: impl Iterator<Item = &'line str>) -> Vec<Gpu> {
    let mut gpus: Vec<Gpu> = Vec::new();
    for gpu in lines.filter_map(parse_gpu) {
        if gpus.len() < MAX_GPUS && gpus.iter().all(|known| known.id != gpu.id) {
            gpus.push(gpu);
        }
    }
    gpus
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn pod(gpus: u32, models: &[(&str, &[u32], Option<f64>)]) -> Pod {
        let models = models.iter().map(|(name, gpu, memory)| {
            let model = RunningModel {
                gpu: gpu.to_vec(),
                memory: *memory,
                ..RunningModel::default()
            };
            ((*name).to_owned(), model)
        });
        Pod {
            gpus: (0..gpus)
                .map(|id| Gpu {
                    id,
                    ..Gpu::default()
                })
                .collect(),
            models: models.collect(),
            ..Pod::default()
        }
    }

    #[test]
    fn the_least_used_gpus_are_chosen() {
        let empty = pod(4, &[]);
        let busy = pod(4, &[("a", &[0, 1], None)]);
        let shared = pod(2, &[("a", &[0], Some(0.5)), ("b", &[1], Some(0.3))]);
        for (pod, count, memory, expected) in [
            (&empty, 1, 0.9, vec![0]),
            (&empty, 4, 0.9, vec![0, 1, 2, 3]),
            (&busy, 2, 0.9, vec![2, 3]),
            (&shared, 1, 0.5, vec![1]),
            (&shared, 2, 0.5, vec![0, 1]),
        ] {
            assert_eq!(allocate(pod, count, memory), Ok(expected));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let busy = pod(2, &[("a", &[0], None), ("b", &[0, 1], Some(0.5))]);
        let error = allocate(&busy, 3, 0.9).unwrap_err();
        assert_eq!(error.to_string(), "the pod has 2 GPUs, 3 are needed");
        let error = allocate(&busy, 1, 0.9).unwrap_err();
        assert_eq!(
            error.to_string(),
            "GPU 1 has 50 % of its memory left, 90 % are needed; it is used by b"
        );
    }

    #[test]
    fn tunnels_get_ports_that_are_free() {
        let tunnel = |local_port| RunningModel {
            local_port,
            ..RunningModel::default()
        };
        let models = [tunnel(Some(8001)), tunnel(None), tunnel(Some(8003))];
        assert_eq!(local_port(models.iter(), |port| port != 8002), Some(8004));
        assert_eq!(local_port(models.iter(), |_| false), None);
    }

    #[test]
    fn hostile_output_is_limited() {
        let listed = "0, NVIDIA H100 80GB HBM3, 81559 MiB\n0, again, 1 MiB\nnone\n1, \u{1b}]52;c;AA==\u{7}H200, 1 MiB\n-1, x, y\n2, short";
        let gpus = parse_gpus(listed.lines());
        let names: Vec<(u32, &str)> = gpus.iter().map(|gpu| (gpu.id, gpu.name.as_str())).collect();
        assert_eq!(names, [(0, "NVIDIA H100 80GB HBM3"), (1, "H200")]);
        let many: Vec<String> = (0..1000).map(|id| format!("{id}, x, y")).collect();
        assert_eq!(parse_gpus(many.iter().map(String::as_str)).len(), MAX_GPUS);
    }
}
