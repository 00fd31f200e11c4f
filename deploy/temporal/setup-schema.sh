#!/bin/sh
# Creates Temporal's two databases and brings their schemas up to date. Safe to repeat: what exists is
# kept, and a schema is never taken back. Where the databases are is told by the SQL_* variables.
set -eu

schemas=/etc/temporal/schema/postgresql/v12

bring_up_to_date() {
    temporal-sql-tool --database "$1" create-database
    temporal-sql-tool --database "$1" setup-schema --version 0.0
    temporal-sql-tool --database "$1" update-schema --schema-dir "$schemas/$2/versioned"
}

bring_up_to_date temporal temporal
bring_up_to_date temporal_visibility visibility
