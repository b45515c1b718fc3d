# A regression between the sites of a table from R: the command line, and its JSON.
# Rscript regression.R visits.csv
library(jsonlite)

tacit <- function(...) {
  answer <- system2("tacit", shQuote(c(..., "--json")), stdout = TRUE, stderr = "")
  found <- fromJSON(answer)
  if (!is.null(attr(answer, "status"))) stop(found$error)
  found
}

table <- commandArgs(trailingOnly = TRUE)[1]
fit <- tacit(
  "fit", table, "ill ~ age", "--family", "binomial", "--site", "clinic",
  "--sites", "north,south,west", "--bounds", "age=18:95", "--levels", "ill=no,yes"
)
cat(fit$guarantee$sentence, "\n")
print(fit$answer$rows[, c("parameter", "coefficient", "standard_error", "lower", "upper")])
