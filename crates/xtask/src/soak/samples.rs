//! Resource samples, and whether they show growth.

use std::fmt::Write as _;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) kibibytes: usize,
    pub(super) threads: usize,
    pub(super) descriptors: usize,
}

/// Growth that a phase is allowed to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    None,
    /// Memory: every turn adds entries to one session.
    Entries,
}

/// Samples of one phase, by step.
#[derive(Debug)]
pub(super) struct Samples {
    name: &'static str,
    growth: Growth,
    taken: Vec<(usize, Sample)>,
}

/// Allowed memory growth in the second half of a phase: a fraction of the level, or this many KiB. Allocators
/// keep freed memory; a leak of 1 KiB per turn would exceed this tenfold.
const MEMORY_FRACTION: f64 = 0.03;
const MEMORY_FLOOR: f64 = 1024.0;

/// Allowed growth of descriptors or threads, since pools grow and shrink.
const COUNT_FLOOR: f64 = 3.0;

impl Samples {
    pub(super) fn new(name: &'static str, growth: Growth) -> Self {
        Self {
            name,
            growth,
            taken: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, at: usize, sample: Sample) {
        self.taken.push((at, sample));
    }

    /// Returns the resources that grow beyond what is allowed.
    pub(super) fn growing(&self) -> Vec<&'static str> {
        let mut growing = Vec::new();
        let memory = self.trend(|sample| sample.kibibytes);
        let allowed = (memory.level * MEMORY_FRACTION).max(MEMORY_FLOOR);
        if self.growth == Growth::None && memory.gain() > allowed {
            growing.push("memory");
        }
        if self.trend(|sample| sample.descriptors).gain() > COUNT_FLOOR {
            growing.push("descriptors");
        }
        if self.trend(|sample| sample.threads).gain() > COUNT_FLOOR {
            growing.push("threads");
        }
        growing
    }

    /// Fits a line through the second half, when one-time set-up is over.
    fn trend(&self, value: impl Fn(&Sample) -> usize) -> TrendLine {
        let half = self.taken.get(self.taken.len() / 2..);
        let points = half.unwrap_or_default().iter();
        let points: Vec<(f64, f64)> = points
            .map(|(at, sample)| (as_float(*at), as_float(value(sample))))
            .collect();
        TrendLine::through(&points)
    }

    /// Appends the samples as a table with a verdict.
    pub(super) fn describe(&self, text: &mut String) {
        let memory = self.trend(|sample| sample.kibibytes);
        // Writing to a string cannot fail.
        writeln!(
            text,
            "\n| {} | memory, MiB | descriptors | threads |",
            self.name
        )
        .ok();
        writeln!(text, "|---:|---:|---:|---:|").ok();
        for (at, sample) in &self.taken {
            let mebibytes = as_float(sample.kibibytes) / 1024.0;
            let (descriptors, threads) = (sample.descriptors, sample.threads);
            writeln!(
                text,
                "| {at} | {mebibytes:.1} | {descriptors} | {threads} |"
            )
            .ok();
        }
        let slope = memory.slope * 1000.0;
        let growing = self.growing();
        let verdict = if growing.is_empty() {
            "flat".to_owned()
        } else {
            format!("growing: {}", growing.join(", "))
        };
        writeln!(text, "\nsecond half: {slope:+.1} KiB per 1,000; {verdict}").ok();
    }
}

/// Returns whether `step` of `count` is one of about `samples` evenly spaced steps.
pub(super) fn is_due(step: usize, count: usize, samples: usize) -> bool {
    let every = count.div_ceil(samples).max(1);
    step.is_multiple_of(every) || step == count
}

#[expect(clippy::cast_precision_loss, reason = "the counts are far below 2^53")]
fn as_float(number: usize) -> f64 {
    number as f64
}

/// A least-squares line.
#[derive(Debug, Clone, Copy, PartialEq)]
struct TrendLine {
    slope: f64,
    level: f64,
    /// Width of the fitted range.
    span: f64,
}

impl TrendLine {
    fn through(points: &[(f64, f64)]) -> Self {
        let count = as_float(points.len().max(1));
        let mean = |pick: fn(&(f64, f64)) -> f64| points.iter().map(pick).sum::<f64>() / count;
        let (across, level) = (mean(|point| point.0), mean(|point| point.1));
        let spread: f64 = points.iter().map(|(x, _)| (x - across).powi(2)).sum();
        let rise: f64 = points.iter().map(|(x, y)| (x - across) * (y - level)).sum();
        let ends = (points.first(), points.last());
        Self {
            slope: if spread > 0.0 { rise / spread } else { 0.0 },
            level,
            span: match ends {
                (Some(first), Some(last)) => last.0 - first.0,
                _ => 0.0,
            },
        }
    }

    /// Returns the rise over the fitted range.
    fn gain(self) -> f64 {
        self.slope * self.span
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn samples(kibibytes: impl Fn(usize) -> usize, threads: impl Fn(usize) -> usize) -> Samples {
        let mut samples = Samples::new("turns", Growth::None);
        for step in 1..=20 {
            let sample = Sample {
                kibibytes: kibibytes(step),
                threads: threads(step),
                descriptors: 12,
            };
            samples.add(step * 500, sample);
        }
        samples
    }

    #[test]
    fn leaks_are_distinguished_from_noise() {
        let none: [&str; 0] = [];
        assert_eq!(samples(|_| 14_000, |_| 5).growing(), none);
        let settling = samples(|step| 14_000 + step.min(8) * 500, |_| 5);
        assert_eq!(settling.growing(), none, "one-time set-up is not a leak");
        let fluctuating = samples(|step| 14_000 + step % 3 * 300, |step| 5 + step % 2);
        assert_eq!(fluctuating.growing(), none);
        assert_eq!(
            samples(|step| 14_000 + step * 500, |_| 5).growing(),
            ["memory"]
        );
        assert_eq!(samples(|_| 14_000, |step| step).growing(), ["threads"]);
    }

    #[test]
    fn sampled_steps_are_evenly_spaced() {
        let due = |count| (1..=count).filter(|step| is_due(*step, count, 20)).count();
        assert_eq!((due(100), due(20), due(7), due(1000)), (20, 20, 7, 20));
    }
}
