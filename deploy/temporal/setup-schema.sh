#!/bin/sh
# Create the two databases of Temporal and update their schemas. Safe to repeat: existing databases are kept, and a
# schema is never downgraded. The SQL_* variables name the database server.
set -eu

schemas=/etc/temporal/schema/postgresql/v12

bring_up_to_date() {
    temporal-sql-tool --database "$1" create-database
    temporal-sql-tool --database "$1" setup-schema --version 0.0
    temporal-sql-tool --database "$1" update-schema --schema-dir "$schemas/$2/versioned"
}

bring_up_to_date temporal temporal
bring_up_to_date temporal_visibility visibility
