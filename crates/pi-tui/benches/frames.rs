//! Benchmarks of frames in which little of a large transcript changes.

use std::any::Any;
use std::time::Instant;

use divan::Bencher;
use pi_tui::{
    BlockId, Component, InputEvent, KeyEvent, Line, Lines, RenderOptions, ScreenMode, Size, Tui,
    TuiOptions,
};

fn main() {
    divan::main();
}

const SIZE: Size = Size {
    columns: 120,
    rows: 50,
};

/// Lines, one of which changes.
struct BenchBlock {
    lines: Vec<Line>,
    cached: Option<Lines>,
}

impl BenchBlock {
    fn new(first: usize, count: usize) -> Self {
        Self {
            lines: (first..first + count)
                .map(|number| {
                    Line::from(format!(
                        "\x1b[36mline {number}\x1b[39m: some words of a transcript"
                    ))
                })
                .collect(),
            cached: None,
        }
    }
}

impl Component for BenchBlock {
    fn render(&mut self, _width: usize) -> Lines {
        self.cached
            .get_or_insert_with(|| Lines::from(self.lines.clone()))
            .clone()
    }
}

fn transcript(mode: ScreenMode, lines: usize) -> (Tui, BlockId) {
    let mut tui = Tui::new(TuiOptions {
        mode,
        render: RenderOptions::default(),
        ..TuiOptions::default()
    });
    tui.set_size(SIZE);
    tui.start();
    for first in (0..lines).step_by(10) {
        tui.transcript_mut().push(BenchBlock::new(first, 10));
    }
    let changing = tui.transcript_mut().push(BenchBlock::new(lines, 10));
    tui.dock_mut().push_live(BenchBlock::new(0, 4));
    divan::black_box(tui.frame().unwrap_or_default());
    (tui, changing)
}

fn one_changed_line(bencher: Bencher<'_, '_>, mode: ScreenMode, lines: usize) {
    let (mut tui, changing) = transcript(mode, lines);
    let mut count = 0_u64;
    bencher.bench_local(|| {
        count += 1;
        if let Some(component) = tui.transcript_mut().get_mut(changing)
            && let Some(block) = (component as &mut dyn Any).downcast_mut::<BenchBlock>()
        {
            block.lines[5] = Line::from(format!("\x1b[36mchanged {count}\x1b[39m: some words"));
            block.cached = None;
        }
        let frame = tui.frame().unwrap_or_default();
        assert!(
            !frame.is_empty() && frame.len() < 300,
            "{} bytes",
            frame.len()
        );
        frame
    });
}

#[divan::bench(args = [100, 10_000, 100_000])]
fn main_screen_one_changed_line(bencher: Bencher<'_, '_>, lines: usize) {
    one_changed_line(bencher, ScreenMode::Main, lines);
}

#[divan::bench(args = [100, 10_000, 100_000])]
fn full_screen_one_changed_line(bencher: Bencher<'_, '_>, lines: usize) {
    one_changed_line(bencher, ScreenMode::Full, lines);
}

#[divan::bench(args = [100, 10_000, 100_000])]
fn idle_frame(bencher: Bencher<'_, '_>, lines: usize) {
    let (mut tui, _) = transcript(ScreenMode::Main, lines);
    bencher.bench_local(|| tui.frame().unwrap_or_default());
}

#[divan::bench(args = [100, 10_000, 100_000])]
fn unhandled_key(bencher: Bencher<'_, '_>, lines: usize) {
    let (mut tui, _) = transcript(ScreenMode::Main, lines);
    let event = InputEvent::Key(KeyEvent::typed('x'));
    bencher.bench_local(|| tui.handle(&event, Instant::now()));
}

#[divan::bench(args = [10_000])]
fn width_change(bencher: Bencher<'_, '_>, lines: usize) {
    let (mut tui, _) = transcript(ScreenMode::Main, lines);
    let mut wide = false;
    bencher.bench_local(|| {
        wide = !wide;
        tui.set_size(Size {
            columns: if wide { 130 } else { 120 },
            ..SIZE
        });
        tui.frame().unwrap_or_default()
    });
}
