//! Changes of a trusted project since its last use.

use std::fs;

use pi_config::{TrustDecision, TrustStore, TrustUpdate};
use pi_protocol::ProjectAccess;
use pi_protocol::settings::ProjectTrustDefault;
use pretty_assertions::assert_eq;

use crate::trust_test_env::TrustTestEnv;

const NONE: [&str; 0] = [];

#[test]
fn changes_are_reported_once() {
    let project = TrustTestEnv::new();
    assert!(!project.changes().is_unrecorded(), "nothing to remember");
    project.write(".pi/settings.json", "{}");
    project.write(".pi/extensions/a.ts", "one");
    project.write(".agents/skills/s/SKILL.md", "four");
    project.write(".pi/themes/t.json", "{}");
    assert!(project.changes().is_unrecorded());
    assert_eq!(project.changed(), NONE, "the first use");
    assert!(!project.changes().is_unrecorded());
    project.write(".pi/extensions/a.ts", "other");
    project.write(".pi/SYSTEM.md", "new");
    project.write(".pi/themes/t.json", "[]");
    assert_eq!(
        project.changes().changed_code(),
        ["changed: .pi/extensions/a.ts"]
    );
    assert_eq!(project.changed(), [".pi/SYSTEM.md", ".pi/extensions/a.ts"]);
    assert_eq!(project.changed(), NONE, "already seen");
    fs::remove_file(project.project().join(".pi/SYSTEM.md")).unwrap();
    assert_eq!(project.changed(), NONE, "removed files are not reported");
    project.write(".pi/SYSTEM.md", "new");
    assert_eq!(project.changed(), [".pi/SYSTEM.md"]);
}

#[test]
fn code_that_changed_is_decided_about_again() {
    let project = TrustTestEnv::new();
    project.write(".pi/extensions/a.ts", "one");
    project.write(".pi/SYSTEM.md", "be brief");
    let trust = TrustUpdate::trust(project.project());
    TrustStore::new(&project.agent_dir).save(&[trust]).unwrap();
    let trusted = TrustDecision::Known(ProjectAccess::Trusted);
    assert_eq!(
        project.decide(None, ProjectTrustDefault::Ask),
        trusted,
        "the first use"
    );
    assert_eq!(project.changed(), NONE);
    project.write(".pi/SYSTEM.md", "be verbose");
    project.write(".pi/settings.json", r#"{"theme":"dark"}"#);
    assert_eq!(
        project.decide(None, ProjectTrustDefault::Ask),
        trusted,
        "nothing new runs"
    );
    project.write(".pi/extensions/a.ts", "two");
    project.write(".pi/settings.json", r#"{"shellPath":"./sh"}"#);
    let decision = project.decide(None, ProjectTrustDefault::Ask);
    assert_eq!(decision.access_without_prompt(), ProjectAccess::Undecided);
    let TrustDecision::Prompt { changes, .. } = decision else {
        panic!("{decision:?}");
    };
    assert_eq!(
        changes,
        [
            "changed: .pi/extensions/a.ts",
            "new: .pi/settings.json: shellPath",
        ]
    );
    project.changed();
    assert_eq!(project.decide(None, ProjectTrustDefault::Ask), trusted);
}

#[test]
fn code_is_found_wherever_it_is() {
    let project = TrustTestEnv::new();
    let deep = ".pi/extensions/1/2/3/4/5/6/7/8/9/deep.ts";
    let files = [
        (deep, "x"),
        (".pi/extensions/node_modules/x/index.js", "x"),
        (".pi/npm/node_modules/y/index.js", "x"),
        (
            ".pi/extensions/a.ts",
            "import '../../lib/a'; import z from 'z'; require('../../lib/b.cjs')",
        ),
        ("lib/a.ts", "export * from './c.js'"),
        ("lib/b.cjs", "x"),
        ("lib/c.ts", "x"),
        ("node_modules/z/main.js", "require('w')"),
        ("node_modules/w/main.js", "x"),
        (
            ".pi/settings.json",
            r#"{"extensions":["../tools/one.ts","../more/*.ts"],"packages":["../pkg",{"source":"../other"}]}"#,
        ),
        ("tools/one.ts", "x"),
        ("more/two.ts", "x"),
        ("pkg/extensions/p.ts", "x"),
        ("other/index.ts", "x"),
    ];
    for (file, content) in files {
        project.write(file, content);
    }
    for number in 0..600 {
        project.write(&format!(".pi/extensions/many/{number}.ts"), "x");
    }
    assert_eq!(project.changed_code(), NONE);
    let changing = files.iter().map(|(file, _)| *file);
    let changing = changing.filter(|file| !file.ends_with("settings.json"));
    for file in changing.chain([".pi/extensions/many/599.ts"]) {
        let content = project.home.read(&format!("code/project/{file}"));
        project.write(file, &format!("{content} // changed"));
        assert_eq!(project.changed_code(), [format!("changed: {file}")]);
    }
    project.write("lib/unrelated.ts", "x");
    assert_eq!(project.changed_code(), NONE, "not imported");
}

#[test]
fn what_a_script_computes_is_searched_for() {
    let project = TrustTestEnv::new();
    let computing = "import(join(root, 'lib', `plugins/${name}.js`)); eval(readFileSync(`${cwd}/data/code.txt`))";
    let files = [
        (".pi/extensions/a.ts", computing),
        (".pi/settings.json", r#"{"extensions":["../tools/one.ts"]}"#),
        ("tools/parts/two.ts", "x"),
        ("tools/one.ts", "import(process.env.NEXT)"),
        ("lib/deep/three.js", "x"),
        ("plugins/four.js", "x"),
        ("data/code.txt", "x"),
    ];
    for (file, content) in files {
        project.write(file, content);
    }
    project.write("src/five.js", "x");
    assert_eq!(project.changed_code(), NONE);
    let loaded = files.iter().map(|(file, _)| *file);
    for file in loaded.filter(|file| !file.starts_with(".pi")) {
        project.write(file, "changed");
        assert_eq!(project.changed_code(), [format!("changed: {file}")]);
    }
    project.write("src/five.js", "changed");
    assert_eq!(project.changed_code(), NONE, "not mentioned");
}

#[cfg(unix)]
#[test]
fn linked_directories_are_followed_and_the_scan_is_bounded() {
    use std::os::unix::fs::symlink;

    let project = TrustTestEnv::new();
    project.write(".pi/extensions/a.ts", "x");
    project.home.write("elsewhere/ext/index.ts", "x");
    let extensions = project.project().join(".pi/extensions");
    let large = fs::File::create(extensions.join("0-large.ts")).unwrap();
    large.set_len(1 << 40).unwrap();
    let pipe = std::process::Command::new("mkfifo")
        .arg(extensions.join("0-pipe.ts"))
        .status();
    assert!(pipe.unwrap().success());
    symlink("/", extensions.join("0-root")).unwrap();
    symlink("/dev/zero", extensions.join("0-zeros.ts")).unwrap();
    symlink("..", extensions.join("0-circle")).unwrap();
    let linked = project.root.join("elsewhere/ext");
    symlink(&linked, extensions.join("linked")).unwrap();
    assert_eq!(project.changed_code(), NONE);
    large.set_len(1 << 39).unwrap();
    assert_eq!(
        project.changed_code(),
        ["changed: .pi/extensions/0-large.ts"]
    );
    project.home.write("elsewhere/ext/index.ts", "other");
    assert_eq!(
        project.changed_code(),
        ["changed: .pi/extensions/linked/index.ts"]
    );
    // A record that cannot be read is created again.
    let record = fs::read_dir(project.agent_dir.seen_projects()).unwrap();
    let record = record.map(|file| file.unwrap().path()).next().unwrap();
    let mut record = fs::File::create(record).unwrap();
    std::io::Write::write_all(&mut record, b"no record").unwrap();
    assert_eq!(project.changed_code(), NONE);
    assert!(!project.changes().is_unrecorded());
}
