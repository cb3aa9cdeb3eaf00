//! What was sampled, and whether it grows.

use std::fmt::Write as _;

/// What a program holds at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) kibibytes: usize,
    pub(super) threads: usize,
    pub(super) descriptors: usize,
}

/// What may grow with the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    None,
    /// Memory: every turn adds entries to one session.
    Entries,
}

/// The samples of one part.
#[derive(Debug)]
pub(super) struct Samples {
    name: &'static str,
    growth: Growth,
    taken: Vec<(usize, Sample)>,
}

/// How much more memory the second half of a part may need: a share of it, or this many KiB. Allocators
/// keep what they got; a leak of a kilobyte a turn would be ten times this.
const MEMORY_SHARE: f64 = 0.03;
const MEMORY_FLOOR: f64 = 1024.0;

/// How many more descriptors or threads there may be: a pool grows and shrinks.
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

    /// Names what grows and must not.
    pub(super) fn growing(&self) -> Vec<&'static str> {
        let mut growing = Vec::new();
        let memory = self.line(|sample| sample.kibibytes);
        let most = (memory.level * MEMORY_SHARE).max(MEMORY_FLOOR);
        if self.growth == Growth::None && memory.gain() > most {
            growing.push("memory");
        }
        if self.line(|sample| sample.descriptors).gain() > COUNT_FLOOR {
            growing.push("descriptors");
        }
        if self.line(|sample| sample.threads).gain() > COUNT_FLOOR {
            growing.push("threads");
        }
        growing
    }

    /// Fits a line through the second half: what is set up once is there by then.
    fn line(&self, value: impl Fn(&Sample) -> usize) -> Line {
        let half = self.taken.get(self.taken.len() / 2..);
        let points = half.unwrap_or_default().iter();
        let points: Vec<(f64, f64)> = points
            .map(|(at, sample)| (as_float(*at), as_float(value(sample))))
            .collect();
        Line::through(&points)
    }

    /// Writes the samples as a table, and what they come to.
    pub(super) fn describe(&self, text: &mut String) {
        let memory = self.line(|sample| sample.kibibytes);
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
            format!("grows: {}", growing.join(", "))
        };
        writeln!(
            text,
            "\nsecond half: {slope:+.1} KiB for every 1,000; {verdict}"
        )
        .ok();
    }
}

/// Returns whether one of `count` steps is one of `samples` to be sampled.
pub(super) fn is_due(step: usize, count: usize, samples: usize) -> bool {
    let every = count.div_ceil(samples).max(1);
    step.is_multiple_of(every) || step == count
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a program fit a float by far"
)]
fn as_float(number: usize) -> f64 {
    number as f64
}

/// A straight line by least squares.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Line {
    slope: f64,
    level: f64,
    /// How far it was fitted.
    span: f64,
}

impl Line {
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

    /// Returns how much the line rises where it was fitted.
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
    fn a_leak_is_told_from_a_level() {
        let none: [&str; 0] = [];
        assert_eq!(samples(|_| 14_000, |_| 5).growing(), none);
        let settling = samples(|step| 14_000 + step.min(8) * 500, |_| 5);
        assert_eq!(settling.growing(), none, "what is set up once is no leak");
        let wavering = samples(|step| 14_000 + step % 3 * 300, |step| 5 + step % 2);
        assert_eq!(wavering.growing(), none);
        assert_eq!(
            samples(|step| 14_000 + step * 500, |_| 5).growing(),
            ["memory"]
        );
        assert_eq!(samples(|_| 14_000, |step| step).growing(), ["threads"]);
    }

    #[test]
    fn as_many_steps_are_sampled_as_wanted() {
        let due = |count| (1..=count).filter(|step| is_due(*step, count, 20)).count();
        assert_eq!((due(100), due(20), due(7), due(1000)), (20, 20, 7, 20));
    }
}
