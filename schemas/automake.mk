dist_pkgdata_DATA = schemas/intent.schema.json
