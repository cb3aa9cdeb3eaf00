//! System information: native half of `os`.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{NativeError, NativeRequest};
use crate::engine::{NativeReply, ProcessInfo};

/// Returns Node's `process.platform`.
pub(super) fn platform() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        "solaris" | "illumos" => "sunos",
        other => other,
    }
}

/// Returns Node's `process.arch`.
pub(super) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        "x86" => "ia32",
        "powerpc64" => "ppc64",
        other => other,
    }
}

/// Returns `[uid, gid, euid, egid, ppid]`, or `null` on Windows.
#[cfg(unix)]
pub(super) fn user_ids() -> Value {
    use rustix::process;
    json!([
        process::getuid().as_raw(),
        process::getgid().as_raw(),
        process::geteuid().as_raw(),
        process::getegid().as_raw(),
        process::getppid().map(|pid| pid.as_raw_nonzero().get()),
    ])
}

#[cfg(not(unix))]
pub(super) fn user_ids() -> Value {
    Value::Null
}

#[derive(Debug, Deserialize)]
struct ZoneOffsetArguments {
    zone: String,
    /// Milliseconds since 1970.
    time: f64,
}

/// Returns the offset of a time zone from UTC in minutes.
fn zone_offset(arguments: &ZoneOffsetArguments) -> Result<NativeReply, NativeError> {
    let unknown = |_error| {
        NativeError::new(format!("Invalid time zone specified: {}", arguments.zone))
            .with_code("ERR_INVALID_ARG_VALUE")
    };
    let zone = jiff::tz::TimeZone::get(&arguments.zone).map_err(unknown)?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "dates have integral milliseconds, and the cast saturates"
    )]
    let time = jiff::Timestamp::from_millisecond(arguments.time as i64).map_err(unknown)?;
    let seconds = zone.to_offset(time).seconds();
    Ok(NativeReply::Json(json!(f64::from(seconds) / 60.0)))
}

pub(super) fn run(
    process: &ProcessInfo,
    request: &NativeRequest,
) -> Result<NativeReply, NativeError> {
    let variable = |name: &str| {
        let found = process.environment.iter().find(|(key, _)| key == name);
        found
            .map(|(_, value)| value.clone())
            .filter(|value| !value.is_empty())
    };
    match request.operation.as_str() {
        "zone" => {
            let zone = jiff::tz::TimeZone::system();
            Ok(NativeReply::Text(
                zone.iana_name().unwrap_or("UTC").to_owned(),
            ))
        }
        "zoneOffset" => zone_offset(&request.read()?),
        "info" => {
            let home = variable("HOME").or_else(|| variable("USERPROFILE"));
            let home = home
                .or_else(|| std::env::home_dir().map(|path| path.to_string_lossy().into_owned()));
            let temporary = ["TMPDIR", "TMP", "TEMP"].into_iter().find_map(variable);
            let default = if cfg!(windows) {
                "C:\\Windows\\Temp"
            } else {
                "/tmp"
            };
            let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
            let mut info = json!({
                "homedir": home,
                "tmpdir": temporary.unwrap_or_else(|| default.to_owned()),
                "cores": cores,
                "username": variable("USER").or_else(|| variable("USERNAME")),
                "shell": variable("SHELL"),
            });
            if let (Value::Object(info), Value::Object(more)) = (&mut info, system()) {
                info.extend(more);
            }
            Ok(NativeReply::Json(info))
        }
        _ => Err(request.unknown("os")),
    }
}

#[cfg(unix)]
fn system() -> Value {
    let name = rustix::system::uname();
    let mut info = json!({
        "hostname": name.nodename().to_string_lossy(),
        "type": name.sysname().to_string_lossy(),
        "release": name.release().to_string_lossy(),
        "version": name.version().to_string_lossy(),
        "machine": name.machine().to_string_lossy(),
    });
    if let (Value::Object(info), Value::Object(more)) = (&mut info, load()) {
        info.extend(more);
    }
    info
}

#[cfg(target_os = "linux")]
#[expect(
    clippy::cast_precision_loss,
    reason = "JavaScript's numbers are doubles"
)]
fn load() -> Value {
    let info = rustix::system::sysinfo();
    let unit = f64::from(info.mem_unit);
    let averages = info.loads.map(|load| load as f64 / 65536.0);
    json!({
        "uptime": info.uptime,
        "totalmem": info.totalram as f64 * unit,
        "freemem": info.freeram as f64 * unit,
        "loadavg": averages,
    })
}

#[cfg(all(unix, not(target_os = "linux")))]
fn load() -> Value {
    json!({ "uptime": 0, "totalmem": 0, "freemem": 0, "loadavg": [0, 0, 0] })
}

#[cfg(not(unix))]
fn system() -> Value {
    json!({
        "hostname": std::env::var("COMPUTERNAME").unwrap_or_default(),
        "type": "Windows_NT", "release": "10.0", "version": "", "machine": std::env::consts::ARCH,
        "uptime": 0, "totalmem": 0, "freemem": 0, "loadavg": [0, 0, 0],
    })
}
