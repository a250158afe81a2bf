//! Executions to a failure as a plot: a row each bug, a dot each scheduler.

use std::path::Path;

use anyhow::anyhow;
use plotters::prelude::*;

use crate::hunt::{Arm, Peer, Row};
use crate::summary;

const WIDTH: u32 = 1_000;
const ROW: u32 = 17;

/// Writes the plot of our default beside all that shuttle has.
pub(crate) fn write(rows: &[Row], path: &Path) -> anyhow::Result<()> {
    draw(rows, path).map_err(|error| anyhow!("cannot draw {}: {error}", path.display()))
}

fn draw(rows: &[Row], path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let portfolio = Arm::new(Peer::Holdup, "portfolio");
    let mut mutants = summary::mutants(rows);
    let mean = |arm: &Arm, mutant: &str| {
        rows.iter().find(|row| row.arm == *arm && row.mutant == mutant)?.found.mean()
    };
    // The easiest at the bottom.
    let effort = |mutant: &str| mean(&portfolio, mutant).unwrap_or(f64::INFINITY);
    mutants.sort_by(|a, b| effort(a).total_cmp(&effort(b)).then(b.cmp(a)));
    let budget = rows.iter().map(|row| row.found.budget).max().unwrap_or(1) as f64;
    let most = rows.iter().filter_map(|row| row.found.mean()).fold(budget, f64::max);

    let area = SVGBackend::new(path, (WIDTH, mutants.len() as u32 * ROW + 100)).into_drawing_area();
    area.fill(&WHITE)?;
    let n = mutants.len() as f64;
    let mut chart = ChartBuilder::on(&area)
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(230)
        .build_cartesian_2d((1.0..most * 1.2).log_scale(), -0.7..n - 0.3)?;
    let name = |at: &f64| {
        let mutant = mutants.get(at.round() as usize).filter(|_| (at - at.round()).abs() < 0.01);
        let row = mutant.and_then(|mutant| rows.iter().find(|row| row.mutant == **mutant));
        row.map(|row| row.program.clone()).unwrap_or_default()
    };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("executions to a failure, mean")
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_labels(mutants.len() * 2)
        .y_label_formatter(&|_| String::new())
        .draw()?;
    for at in 0..mutants.len() {
        let y = at as f64;
        let (_, pixel) = chart.backend_coord(&(1.0, y));
        let style = ("sans-serif", 12).into_font().color(&BLACK).pos(
            plotters::style::text_anchor::Pos::new(
                plotters::style::text_anchor::HPos::Right,
                plotters::style::text_anchor::VPos::Center,
            ),
        );
        area.draw(&Text::new(name(&y), (230, pixel), style))?;
        chart.draw_series([PathElement::new([(1.0, y), (most * 1.2, y)], BLACK.mix(0.08))])?;
    }
    for (at, arm) in dots(rows, &portfolio).into_iter().enumerate() {
        let color = [
            RGBColor(0, 90, 200),
            RGBColor(220, 120, 0),
            RGBColor(60, 160, 80),
            RGBColor(170, 60, 160),
        ][at % 4];
        let size = if arm == portfolio { 5 } else { 4 };
        let points = mutants.iter().enumerate().filter_map(|(y, mutant)| {
            Some(Circle::new((mean(&arm, mutant)?, y as f64), size, color.filled()))
        });
        chart
            .draw_series(points)?
            .label(arm.to_string())
            .legend(move |(x, y)| Circle::new((x + 10, y), size, color.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.9))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    area.present()?;
    Ok(())
}

/// The arms that are drawn, ours last but first in the legend's colours.
fn dots(rows: &[Row], portfolio: &Arm) -> Vec<Arm> {
    let shuttle = summary::arms(rows).into_iter().filter(|arm| arm.peer() == Peer::Shuttle);
    std::iter::once(portfolio.clone()).chain(shuttle.cloned()).collect()
}
