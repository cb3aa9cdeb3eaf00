//! A minimal test runner, and the users and kernels that tests run under.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitCode};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use crate::{attempts, builds, escapes, processes, toolchains};

/// The argument of a process that restricts itself and then runs a test.
pub(crate) const RESTRICTED: &str = "__restricted";

/// A user without rights on most systems.
const OTHER_USER: u32 = 65534;

type Test = (&'static str, fn());

const TESTS: &[Test] = &[
    ("escapes::namespaces", escapes::with_namespaces),
    ("escapes::namespaces_as_other_user", || {
        restricted("other-user", "escapes::namespaces");
    }),
    ("escapes::landlock_only", || {
        restricted("no-namespaces", "restricted::escapes::landlock_only");
    }),
    ("escapes::moved_directories", escapes::moved_directories),
    ("escapes::protected_link", escapes::protected_link),
    (
        "escapes::git_directories_elsewhere",
        escapes::git_directories_elsewhere,
    ),
    ("escapes::git_directories_elsewhere_as_other_user", || {
        restricted("other-user", "escapes::git_directories_elsewhere");
    }),
    ("escapes::confined_peers", escapes::confined_peers),
    ("escapes::confined_peers_as_other_user", || {
        restricted("other-user", "escapes::confined_peers");
    }),
    (
        "escapes::later_credentials_and_sockets",
        escapes::later_credentials_and_sockets,
    ),
    (
        "escapes::later_credentials_and_sockets_as_other_user",
        || {
            restricted("other-user", "escapes::later_credentials_and_sockets");
        },
    ),
    (
        "escapes::workspace_as_git_directory",
        escapes::workspace_as_git_directory,
    ),
    ("escapes::workspace_as_git_directory_as_other_user", || {
        restricted("other-user", "escapes::workspace_as_git_directory");
    }),
    (
        "escapes::agents_in_temporary_directories",
        escapes::agents_in_temporary_directories,
    ),
    (
        "escapes::agents_in_temporary_directories_as_other_user",
        || {
            restricted("other-user", "escapes::agents_in_temporary_directories");
        },
    ),
    ("escapes::moved_directories_as_other_user", || {
        restricted("other-user", "escapes::moved_directories");
    }),
    ("escapes::protected_link_as_other_user", || {
        restricted("other-user", "escapes::protected_link");
    }),
    ("escapes::read_only_as_other_user", || {
        restricted("other-user", "escapes::read_only");
    }),
    ("escapes::landlock_only_as_other_user", || {
        restricted(
            "other-user-no-namespaces",
            "restricted::escapes::landlock_only",
        );
    }),
    ("escapes::no_support_is_an_error_as_other_user", || {
        restricted(
            "other-user-no-namespaces",
            "restricted::escapes::no_support_is_an_error",
        );
    }),
    ("escapes::message_buses", escapes::message_buses),
    ("escapes::message_buses_as_other_user", || {
        restricted("other-user", "escapes::message_buses");
    }),
    ("escapes::interfaces", escapes::interfaces),
    ("escapes::interfaces_as_other_user", || {
        restricted("other-user", "escapes::interfaces");
    }),
    ("escapes::read_only", escapes::read_only),
    ("escapes::no_support_is_an_error", || {
        restricted(
            "no-namespaces",
            "restricted::escapes::no_support_is_an_error",
        );
    }),
    ("processes::exit_status", processes::exit_status),
    (
        "processes::workspace_in_shared_memory",
        processes::workspace_in_shared_memory,
    ),
    (
        "processes::workspace_in_shared_memory_as_other_user",
        || {
            restricted("other-user", "processes::workspace_in_shared_memory");
        },
    ),
    ("processes::signals", processes::signals),
    ("processes::signals_as_other_user", || {
        restricted("other-user", "processes::signals");
    }),
    (
        "processes::daemons_outlive_the_command",
        processes::daemons_outlive_the_command,
    ),
    (
        "processes::killing_the_helper_kills_the_program",
        processes::killing_the_helper_kills_the_program,
    ),
    ("processes::missing_programs", processes::missing_programs),
    (
        "processes::environment_and_streams",
        processes::environment_and_streams,
    ),
    (
        "processes::placeholders_are_removed",
        processes::placeholders_are_removed,
    ),
    ("processes::placeholders_are_removed_as_other_user", || {
        restricted("other-user", "processes::placeholders_are_removed");
    }),
    (
        "processes::placeholders_are_readable",
        processes::placeholders_are_readable,
    ),
    ("processes::placeholders_are_readable_as_other_user", || {
        restricted("other-user", "processes::placeholders_are_readable");
    }),
    ("attempts::random_commands", attempts::random_commands),
    ("attempts::random_commands_as_other_user", || {
        restricted("other-user", "attempts::random_commands");
    }),
    ("attempts::other_file_system", attempts::other_file_system),
    ("attempts::other_file_system_as_other_user", || {
        restricted("other-user", "attempts::other_file_system");
    }),
    ("attempts::special_files", attempts::special_files),
    ("attempts::special_files_as_other_user", || {
        restricted("other-user", "attempts::special_files");
    }),
    ("attempts::deep_directories", attempts::deep_directories),
    ("attempts::deep_directories_as_other_user", || {
        restricted("other-user", "attempts::deep_directories");
    }),
    (
        "attempts::killed_while_keeping",
        attempts::killed_while_keeping,
    ),
    ("attempts::boundaries", attempts::boundaries),
    ("attempts::boundaries_as_other_user", || {
        restricted("other-user", "attempts::boundaries");
    }),
    ("attempts::protected_paths", attempts::protected_paths),
    ("attempts::links", attempts::links),
    (
        "attempts::selection_and_conflicts",
        attempts::selection_and_conflicts,
    ),
    (
        "attempts::changes_below_deleted_directories",
        attempts::changes_below_deleted_directories,
    ),
    ("attempts::leftovers", attempts::leftovers),
    ("attempts::no_support_is_an_error", || {
        restricted(
            "no-namespaces",
            "restricted::attempts::no_support_is_an_error",
        );
    }),
    ("builds::git", builds::git),
    ("builds::git_as_other_user", || {
        restricted("other-user", "builds::git");
    }),
    ("builds::git_worktree", builds::git_worktree),
    ("builds::git_worktree_as_other_user", || {
        restricted("other-user", "builds::git_worktree");
    }),
    ("builds::cargo", builds::cargo),
    ("builds::npm", builds::npm),
    ("builds::python", builds::python),
    ("toolchains::all", toolchains::all),
];

/// Tests that need a restriction, run by those above.
const RESTRICTED_TESTS: &[Test] = &[
    ("restricted::attempts::keep_and_die", attempts::keep_and_die),
    ("restricted::escapes::landlock_only", escapes::landlock_only),
    (
        "restricted::escapes::no_support_is_an_error",
        escapes::no_support_is_an_error,
    ),
    (
        "restricted::attempts::no_support_is_an_error",
        attempts::no_support_is_an_error,
    ),
];

/// Runs the tests whose names contain one of the arguments.
pub(crate) fn run(words: impl Iterator<Item = String>) -> ExitCode {
    let words: Vec<String> = words.collect();
    if words.iter().any(|word| word == "--list") {
        for (name, _) in TESTS {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    let filters: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let is_selected = |name: &str| {
        filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()))
    };
    let mut failed = 0;
    for (name, test) in TESTS.iter().filter(|(name, _)| is_selected(name)) {
        let passed = catch_unwind(AssertUnwindSafe(test)).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        failed += usize::from(!passed);
    }
    if failed > 0 {
        println!("{failed} tests failed");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Runs a test in a process with a restriction.
fn restricted(restriction: &str, test: &str) {
    if restriction.starts_with("other-user") && !rustix::process::geteuid().is_root() {
        println!("skipped: only root can run a test as another user");
        return;
    }
    let status = Command::new("/proc/self/exe")
        .args([RESTRICTED, restriction, test])
        .status()
        .unwrap();
    assert!(status.success(), "{test} failed under {restriction}");
}

/// Restricts this process, then runs one test.
pub(crate) fn run_restricted(words: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<String> = words.map(|word| word.into_string().unwrap()).collect();
    let [restriction, test] = words.as_slice() else {
        panic!("a restriction and a test are expected");
    };
    match restriction.as_str() {
        "other-user" | "other-user-no-namespaces" => {
            let next = restriction.strip_prefix("other-user-").unwrap_or("none");
            let error = Command::new("/proc/self/exe")
                .args([RESTRICTED, next, test])
                .env("HOME", "/nonexistent")
                .uid(OTHER_USER)
                .gid(OTHER_USER)
                .exec();
            panic!("{error}");
        }
        "no-namespaces" => deny_namespaces(),
        _ => {}
    }
    let mut tests = TESTS.iter().chain(RESTRICTED_TESTS);
    let (_, run) = tests.find(|(name, _)| name == test).unwrap();
    run();
    ExitCode::SUCCESS
}

/// Makes the kernel refuse user namespaces, like that of a container.
fn deny_namespaces() {
    let flag = u64::from(libc::CLONE_NEWUSER.cast_unsigned());
    let condition = SeccompCondition::new(
        0,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::MaskedEq(flag),
        flag,
    );
    let rule = vec![SeccompRule::new(vec![condition.unwrap()]).unwrap()];
    let rules = [(libc::SYS_clone, rule.clone()), (libc::SYS_unshare, rule)];
    let filter = SeccompFilter::new(
        rules.into_iter().collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.cast_unsigned()),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let program: BpfProgram = filter.unwrap().try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
}
