//! Runs programs in the sandbox and tries to escape from it. Has no test harness, because this program is its own helper, as
//! `pi` is: it confines itself, or makes the system calls of an attack, depending on its first argument.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test that Clippy does not know as one, without its harness"
)]

#[cfg(target_os = "linux")]
mod attacks;
#[cfg(target_os = "linux")]
mod attempts;
#[cfg(target_os = "linux")]
mod builds;
#[cfg(target_os = "linux")]
mod escapes;
#[cfg(target_os = "linux")]
mod fixture;
#[cfg(target_os = "linux")]
mod processes;
#[cfg(target_os = "linux")]
mod runner;
#[cfg(target_os = "linux")]
mod toolchains;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let mut words = std::env::args_os().skip(1);
    let first = words.next().unwrap_or_default();
    match first.to_str() {
        Some(pi_sandbox::CONFINE) => pi_sandbox::run_confined(words),
        Some(attacks::ATTACK) => attacks::run(words),
        Some(runner::RESTRICTED) => runner::run_restricted(words),
        _ => runner::run(std::env::args().skip(1)),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
