//! Disk faults and crashes at every operation of a change to settings, credentials, trust and records of MCP servers.
//!
//! The kernel injects the faults in a child process: see `pi_test_support::kernel_fault_command`.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use pi_auth::{Credential, CredentialStore};
use pi_config::{AgentDir, AuthFile, McpRecords, SettingsStore, TrustStore, TrustUpdate};
use pi_protocol::{ConfigScope, ProjectAccess};
use pi_test_support::{
    DiskFault, DiskOperation, TempHome, install_kernel_fault, kernel_fault_command,
    was_killed_by_fault,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const STORE: &str = "PI_TEST_STORE";
const AGENT_DIR: &str = "PI_TEST_AGENT_DIR";
const STORES: [&str; 4] = ["settings.json", "auth.json", "trust.json", "mcp-pins.json"];

/// The contents of a store before the change.
fn before(store: &str) -> Value {
    match store {
        "settings.json" => json!({"theme": "dark", "unknown": {"kept": [1, 2]}}),
        "auth.json" => json!({"openai": {"type": "api_key", "key": "sk-before"}}),
        "mcp-pins.json" => json!({"a|1": {"tools": {"x": {"sha256": "1"}}}}),
        _ => json!({"/a/project": true}),
    }
}

/// The contents of a store after the change.
fn after(store: &str) -> Value {
    let mut value = before(store);
    match store {
        "settings.json" => value["theme"] = json!("light"),
        "auth.json" => value["groq"] = json!({"type": "api_key", "key": "sk-after"}),
        "mcp-pins.json" => value["b|2"] = json!({"instructions": {"sha256": "2"}}),
        _ => value["/b/project"] = json!(true),
    }
    value
}

/// Makes the change; panics on error.
fn change(store: &str, agent_dir: &Path) {
    let agent_dir = AgentDir::at(agent_dir);
    match store {
        "settings.json" => {
            let settings = SettingsStore::open(&agent_dir, Path::new("/"), ProjectAccess::Denied);
            let changed =
                settings.update(ConfigScope::User, |it| it.theme = Some("light".to_owned()));
            changed.unwrap();
        }
        "auth.json" => {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build().unwrap();
            let auth = AuthFile::new(agent_dir.auth_file());
            let put = auth.put("groq", Credential::api_key("sk-after"));
            runtime.block_on(put).unwrap();
        }
        "mcp-pins.json" => {
            let records = McpRecords::new(agent_dir.mcp_pins_file());
            let added = records.change("b|2", |record| {
                record.insert("instructions".to_owned(), json!({"sha256": "2"}));
                true
            });
            added.unwrap();
        }
        _ => {
            let update = TrustUpdate::trust("/b/project");
            TrustStore::new(&agent_dir).save(&[update]).unwrap();
        }
    }
}

#[test]
#[ignore = "run by another test as a child process"]
fn change_with_injected_fault() {
    let (Ok(store), Ok(agent_dir)) = (std::env::var(STORE), std::env::var(AGENT_DIR)) else {
        return;
    };
    if install_kernel_fault() {
        change(&store, Path::new(&agent_dir));
    }
}

/// Backdates the files in a directory.
fn age(dir: &Path) {
    let long_ago = SystemTime::now() - Duration::from_mins(5);
    for entry in fs::read_dir(dir).unwrap() {
        let aged = fs::File::open(entry.unwrap().path()).unwrap();
        aged.set_modified(long_ago).unwrap();
    }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn change_is_atomic_under_disk_faults() {
    for store in STORES {
        for step in DiskOperation::ALL.into_iter().take(7) {
            for fault in DiskFault::ALL.into_iter().take(4) {
                let home = TempHome::new();
                home.write(&format!("agent/{store}"), before(store).to_string());
                let dir = home.path().join("agent");
                let lock = format!("{store}.lock");
                let case = format!("{store}: {fault:?} at {step:?}");
                let test = "disk_faults::change_with_injected_fault";
                let output = kernel_fault_command(test, step, fault)
                    .env(STORE, store)
                    .env(AGENT_DIR, &dir)
                    .output()
                    .unwrap();
                let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
                let content = || -> Value {
                    serde_json::from_str(&home.read(&format!("agent/{store}"))).unwrap()
                };
                // The last operation only releases the lock, after the change.
                let is_made = step == DiskOperation::RemoveDir;
                let expected = if is_made { after(store) } else { before(store) };
                assert_eq!(content(), expected, "{case}: {stderr}");
                if fault == DiskFault::Kill {
                    assert!(was_killed_by_fault(output.status), "{case}: {output:?}");
                } else {
                    assert_eq!(output.status.success(), is_made, "{case}: {stderr}");
                    let is_locked = is_made && names(&dir).contains(&lock);
                    let expected = 1 + usize::from(is_locked);
                    assert_eq!(names(&dir).len(), expected, "{case}: no debris");
                }
                age(&dir);
                change(store, &dir);
                assert_eq!(content(), after(store), "{case}: the next change");
                assert_eq!(names(&dir), [store], "{case}: all is cleared away");
            }
        }
    }
}
