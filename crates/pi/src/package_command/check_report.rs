//! `pi install --check`: describes the content and requirements of a package.

use std::fmt::Write as _;

use pi_config::PackageAddress;
use pi_packages::{ConfiguredPackage, ModuleSupport, PackageInspection};
use pi_protocol::SourceScope;

use super::{Packages, package_failure, progress_bar};
use crate::output::{Failure, notice, sanitize};

/// Inspects a package and formats the result.
pub(super) async fn check(packages: &Packages<'_>, source: &str) -> Result<String, Failure> {
    let address = PackageAddress::parse(source)?;
    let scope = match &address {
        // Relative paths start at the working directory.
        PackageAddress::Local(_) => SourceScope::Temporary,
        PackageAddress::Npm(_) | PackageAddress::Git(_) => packages.source_scope(),
    };
    let package = ConfiguredPackage { address, scope };
    let inspection = packages.installer(&[]).inspect(&package).await;
    let inspection = inspection.map_err(|error| package_failure(&error))?;
    notice("Nothing was installed or run.");
    Ok(sanitize(&report(source, &inspection)).into_owned())
}

fn report(source: &str, inspection: &PackageInspection) -> String {
    let mut text = String::new();
    let mut line = |label: &str, value: &str| {
        // Writing to a string cannot fail.
        writeln!(text, "{label:<13}{value}").ok();
    };
    let name = inspection.name.as_deref().unwrap_or(source);
    let version = inspection.version.as_deref().unwrap_or("(no version)");
    line("Package", &format!("{name} {version}"));
    line(
        "License",
        inspection.license.as_deref().unwrap_or("not specified"),
    );
    let size = progress_bar::format_size(inspection.bytes);
    let files = match inspection.files {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    };
    line("Size", &format!("{size} in {files}"));
    for (label, names) in [
        ("Extensions", &inspection.extensions),
        ("Skills", &inspection.skills),
        ("Prompts", &inspection.prompts),
        ("Themes", &inspection.themes),
    ] {
        if !names.is_empty() {
            line(label, &names.join(", "));
        }
    }
    let dependencies = inspection.dependencies.iter();
    let dependencies: Vec<String> = dependencies
        .map(|(name, wanted)| format!("{name} {wanted}"))
        .collect();
    if !dependencies.is_empty() {
        line("Needs", &dependencies.join(", "));
    }
    for (module, support) in &inspection.modules {
        let verdict = match support {
            ModuleSupport::Full => "available".to_owned(),
            ModuleSupport::Partial(missing) => format!("without {}", missing.join(", ")),
            ModuleSupport::Absent => "not supported".to_owned(),
            ModuleSupport::Package => continue,
        };
        line("Imports", &format!("{module} ({verdict})"));
    }
    for package in &inspection.undeclared {
        line(
            "Imports",
            &format!("{package} (not declared as a dependency)"),
        );
    }
    for file in &inspection.native {
        line(
            "Native",
            &format!("{file} (not supported by the embedded engine)"),
        );
    }
    for (event, script) in &inspection.scripts {
        line(
            "Script",
            &format!("{event}: {script} (runs only if allowed)"),
        );
    }
    for problem in &inspection.problems {
        line("Problem", problem);
    }
    text
}
