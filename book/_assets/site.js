// From a disk the search shows titles alone: a browser does not let a page read its neighbours there.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
